import type { CustomFetch } from 'openid-client';

/** The longest answer of a provider that is read, in bytes: a hundred teams with all that GitHub says of them. */
const LONGEST = 4 * 1024 * 1024;

/** Asks a provider, and reads no more of the answer than any provider has to say. */
export const fetchBounded: CustomFetch = async (url, options) => {
  const response = await fetch(url, options as RequestInit);
  let left = LONGEST;
  const bounded = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      left -= chunk.byteLength;
      if (left < 0) controller.error(new Error('the answer is too long'));
      else controller.enqueue(chunk);
    },
  });
  return response.body === null ? response : new Response(response.body.pipeThrough(bounded), response);
};
