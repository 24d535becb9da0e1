/** Light or dark, as the browser prefers or as the user chose here. */

const STORED = 'theme';
const DARK_CLASS = 'pf-v6-theme-dark';
const prefersDark = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

export function isDark(): boolean {
  const stored = localStorage.getItem(STORED);
  return stored === 'dark' || (stored !== 'light' && prefersDark.matches);
}

/** Switches between light and dark. A choice equal to the browser's preference is not stored, but follows it. */
export function changeTheme(): void {
  const willBeDark = !isDark();
  if (willBeDark === prefersDark.matches) localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, willBeDark ? 'dark' : 'light');
  show();
}

/** Calls a function whenever the theme changes. Returns the function that ends this. */
export function onTheme(change: () => void): () => void {
  listeners.add(change);
  return () => listeners.delete(change);
}

/** Shows the stored choice, and follows the browser's preference from now on. */
export function startTheme(): void {
  prefersDark.addEventListener('change', show);
  show();
}

function show(): void {
  document.documentElement.classList.toggle(DARK_CLASS, isDark());
  for (const change of listeners) change();
}
