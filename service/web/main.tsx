import './start.ts';
import '@patternfly/react-core/dist/styles/base.css';
import './service.css';
import { earlyAnswers } from '@tokenctl/common/web/api.ts';
import { Notices } from '@tokenctl/common/web/notices.tsx';
import { Session } from '@tokenctl/common/web/session.tsx';
import { startTheme } from '@tokenctl/common/web/theme.ts';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { BrowserRouter } from 'react-router';
import { ServiceFrame } from './frame.tsx';
import { loadPage } from './pages.tsx';

/** How long the first view waits for its data before it is drawn without, in milliseconds. */
const WAIT_MS = 200;

startTheme();
// No top-level await: a page's file imports this one, and would wait for it.
void Promise.all([loadPage(window.location.pathname), earlyAnswers(WAIT_MS)]).then(() => {
  const root = document.getElementById('root');
  if (root === null) throw new Error('the page has no root element');
  createRoot(root).render(
    <StrictMode>
      <BrowserRouter>
        <Session>
          <Notices>
            <ServiceFrame />
          </Notices>
        </Session>
      </BrowserRouter>
    </StrictMode>,
  );
});
