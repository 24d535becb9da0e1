/**
 * A number of 53 bits that stands for a text: two multiplicative hashes of 32 bits, mixed (as MurmurHash3
 * finalises). Fast, and no protection against somebody who wants two texts to have the same one; by chance
 * that happens to one pair in 2^53.
 */
export function textHash(text: string, seed = 0): number {
  let one = 0xdeadbeef ^ seed;
  let other = 0x41c6ce57 ^ seed;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    one = Math.imul(one ^ unit, 2_654_435_761);
    other = Math.imul(other ^ unit, 1_597_334_677);
  }
  one = Math.imul(one ^ (one >>> 16), 2_246_822_507) ^ Math.imul(other ^ (other >>> 13), 3_266_489_909);
  other = Math.imul(other ^ (other >>> 16), 2_246_822_507) ^ Math.imul(one ^ (one >>> 13), 3_266_489_909);
  return 2 ** 32 * (other & 0x1f_ffff) + (one >>> 0);
}
