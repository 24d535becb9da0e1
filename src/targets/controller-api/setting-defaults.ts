import { z } from 'zod';
import type { Api } from './api.ts';
import { MISSING, orNull, parseJson } from './responses.ts';

const described = z.looseObject({
  actions: z.looseObject({ PUT: z.record(z.string(), z.looseObject({ default: z.unknown().optional() })) }),
});

/** The category of settings in a path. */
const CATEGORY = /^[a-z][a-z0-9-]{0,60}$/;

/** The defaults of a settings category (`authentication`), as a controller 24.6.1 describes them [seen]; else empty. */
export async function readDefaults(api: Api, category: string | null): Promise<ReadonlyMap<string, unknown>> {
  if (category === null || !CATEGORY.test(category)) return new Map();
  const read = async () => {
    const what = `the description of the settings ${category}`;
    const response = await api.send({ method: 'OPTIONS', path: `settings/${category}/` });
    return described.safeParse(parseJson(response, api, what)).data;
  };
  const body = await orNull(MISSING, read);
  return new Map(
    Object.entries(body?.actions.PUT ?? {}).flatMap(([name, each]) =>
      'default' in each ? [[name, each.default] as const] : [],
    ),
  );
}
