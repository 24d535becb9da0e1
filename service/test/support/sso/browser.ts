/** Where a browser ended up. */
export interface Stop {
  readonly url: string;
  readonly status: number;
  readonly text: string;
  /** What `Location` says, where it was not followed. */
  readonly location: string | null;
}

/** A browser of few abilities: keeps cookies, follows redirects, sends forms. */
export class Browser {
  readonly cookies = new Map<string, string>();
  readonly #headers: Readonly<Record<string, string>>;

  constructor(headers: Readonly<Record<string, string>> = {}) {
    this.#headers = headers;
  }

  /** Opens an address and follows redirects, but none to an address for which `until` holds. */
  async open(url: string, until: (url: string) => boolean = () => false): Promise<Stop> {
    return this.#follow(url, { until });
  }

  /** Sends a form and follows redirects likewise. */
  async send(
    url: string,
    form: Readonly<Record<string, string>>,
    until: (url: string) => boolean = () => false,
  ): Promise<Stop> {
    return this.#follow(url, { until, form });
  }

  async #follow(
    start: string,
    options: { readonly until: (url: string) => boolean; readonly form?: Readonly<Record<string, string>> },
  ): Promise<Stop> {
    let url = start;
    let { form } = options;
    for (let hop = 0; hop < 20; hop += 1) {
      const response = await fetch(url, {
        redirect: 'manual',
        method: form === undefined ? 'GET' : 'POST',
        headers: {
          ...this.#headers,
          cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        },
        ...(form !== undefined && { body: new URLSearchParams(form) }),
      });
      this.#keep(response.headers.getSetCookie());
      const text = await response.text();
      const location = response.headers.get('location');
      const next = location === null ? null : new URL(location, url).href;
      if (next === null || options.until(next)) return { url, status: response.status, text, location: next };
      url = next;
      form = undefined;
    }
    throw new Error(`the redirects from ${start} do not end`);
  }

  #keep(headers: readonly string[]): void {
    for (const header of headers) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(header) ?? [];
      if (value === '' || /; Max-Age=0/i.test(header)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
  }
}
