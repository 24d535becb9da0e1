/** Light or dark: as the browser prefers, or as the user chose here. */

/** What a user can choose. */
export type Theme = 'system' | 'light' | 'dark';

const STORED = 'theme';
const DARK_CLASS = 'pf-v6-theme-dark';
const prefersDark = matchMedia('(prefers-color-scheme: dark)');

/** The stored choice. */
export function storedTheme(): Theme {
  const stored = localStorage.getItem(STORED);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

/** Stores a choice, and shows it. */
export function chooseTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, theme);
  show();
}

/** Shows the stored choice, and follows the browser's preference from now on. */
export function startTheme(): void {
  prefersDark.addEventListener('change', show);
  show();
}

function show(): void {
  const theme = storedTheme();
  const isDark = theme === 'dark' || (theme === 'system' && prefersDark.matches);
  document.documentElement.classList.toggle(DARK_CLASS, isDark);
}
