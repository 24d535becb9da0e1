import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { WAIT_LIMIT_MS } from './limits.ts';

/**
 * Features of Chromium that tests do without. The first three are the lists below the address bar, which no one sees
 * here: pages of their own that each new window loads, with 0.7 s of processor time, while the page of the test is
 * loaded. The others are those that Playwright switches off for tests like ours: of two such lists, Chromium takes the
 * last one.
 */
const WITHOUT = [
  ...['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup'],
  ...['AvoidUnnecessaryBeforeUnloadCheckSync', 'DestroyProfileOnBrowserClose', 'HttpsUpgrades'],
  ...['HttpsFirstBalancedModeAutoEnable', 'LensOverlay', 'MediaRouter', 'PaintHolding'],
  ...['ThirdPartyStoragePartitioning', 'AvoidCorsURLLoaderRestartOnRedirect', 'OptimizationHints'],
  ...['NetworkTimeServiceQuerying', 'AimEnabled', 'PreconnectToSearch'],
];

/** Starts Chromium without a window. Its pages wait as long as all tests do. */
export async function startChromium(executablePath: string): Promise<Browser> {
  const args = [`--disable-features=${WITHOUT.join(',')}`];
  // Chromium's own sandbox refuses to run as root, as tests in containers do.
  if (process.getuid?.() === 0) args.push('--no-sandbox');
  const browser = await chromium.launch({ executablePath, args });
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    const context = await newContext(options);
    context.setDefaultTimeout(WAIT_LIMIT_MS);
    return context;
  };
  return browser;
}

/** Pictures wait until colors and the navigation have changed. */
const TRANSITION_MS = 500;

/** Takes pictures of a page, light, dark and narrow, into the folder that TEST_SCREENSHOTS names, if it does. */
export async function takePictures(page: Page, name: string): Promise<void> {
  const folder = process.env['TEST_SCREENSHOTS'];
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.waitForTimeout(TRANSITION_MS);
    await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) });
  }
  await page.emulateMedia({ colorScheme: null });
  const size = page.viewportSize();
  if (size === null) return;
  await page.setViewportSize({ width: 375, height: 812 });
  await page.waitForTimeout(TRANSITION_MS);
  await page.screenshot({ path: join(folder, `${name}-narrow.png`) });
  await page.setViewportSize(size);
}

/** The impacts that keep users out, from the least. */
const IMPACTS = ['minor', 'moderate', 'serious', 'critical'] as const;

/** What axe finds in a page as it is, from an impact upwards; of its colors in the dark theme as well. */
export async function barriers(
  page: Page,
  from: (typeof IMPACTS)[number] = 'serious',
): Promise<readonly string[]> {
  // What still fades in after a change of the width is too pale while it does.
  await page.waitForFunction(() =>
    document.getAnimations().every((animation) => !(animation instanceof CSSTransition)),
  );
  // Past the page's Content-Security-Policy, which allows no script of others.
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: axe.source });
  const impacts = IMPACTS.slice(IMPACTS.indexOf(from));
  const find = (rules: readonly string[] | null) =>
    page.evaluate(
      async ({ only, meant }) => {
        // The page learns of another theme before its next frame.
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        const { axe: loaded } = globalThis as unknown as { axe: typeof axe };
        const options = only === null ? {} : { runOnly: [...only] };
        const { violations } = await loaded.run(document, { resultTypes: ['violations'], ...options });
        return violations
          .filter(({ impact }) => meant.some((each) => each === impact))
          .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
      },
      { only: rules, meant: impacts },
    );
  const found = await find(null);
  // Without motion, colors change at once.
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
  const inDark = await find(['color-contrast']);
  await page.emulateMedia({ colorScheme: null });
  return [...found, ...inDark.map((each) => `dark: ${each}`)];
}

/** Texts whose contrast with what is behind them is lower than WCAG 2.2 asks for at level AA (4.5 : 1). */
export function paleTexts(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const parse = (color: string) => (color.match(/[\d.]+/g) ?? []).map(Number);
    const luminance = ([red = 0, green = 0, blue = 0]: number[]) => {
      const [r = 0, g = 0, b = 0] = [red, green, blue].map((value) => {
        const share = value / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element: Element | null): number[] => {
      if (element === null) return [255, 255, 255];
      const color = parse(getComputedStyle(element).backgroundColor);
      return (color[3] ?? 1) === 0 ? behind(element.parentElement) : color;
    };
    return [...document.querySelectorAll('main *')]
      .filter((element) =>
        [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent?.trim()),
      )
      .filter((element) => {
        const [one = 0, other = 0] = [parse(getComputedStyle(element).color), behind(element)].map(luminance);
        return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05) < 4.5;
      })
      .map((element) => `${element.tagName} ${element.textContent?.trim().slice(0, 40)}`);
  });
}
