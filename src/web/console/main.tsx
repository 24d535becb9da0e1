import '@patternfly/react-core/dist/styles/base.css';
import './console.css';
import './tokens/charts.css';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { ApiError } from '@tokenctl/common/web/api.ts';
import { startTheme } from '@tokenctl/common/web/theme.ts';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { BrowserRouter } from 'react-router';
import { ConsoleFrame } from './frame.tsx';

startTheme();
const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (failures, error) => error instanceof ApiError && error.status === 0 && failures < 2,
    },
    mutations: { retry: false },
  },
});
const root = document.getElementById('root');
if (root === null) throw new Error('the page has no root element');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <BrowserRouter>
        <ConsoleFrame />
      </BrowserRouter>
    </QueryClientProvider>
  </StrictMode>,
);
