import '@patternfly/react-core/dist/styles/base.css';
import './service.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { BrowserRouter } from 'react-router';
import { Notices } from '../shared/notices.tsx';
import { Session } from '../shared/session.tsx';
import { startTheme } from '../shared/theme.ts';
import { ServiceFrame } from './frame.tsx';
import { loadPage } from './pages.tsx';

startTheme();
// Not awaited at the top: the file of a page imports this one, and would wait for its end.
void loadPage(window.location.pathname).then(() => {
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
