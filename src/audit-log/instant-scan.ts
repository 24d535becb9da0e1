import { isDigit } from './canonical-scan.ts';
import { ScanText } from './scan-text.ts';

const ZERO = 0x30;
const DASH = 0x2d;
const COLON = 0x3a;
const POINT = 0x2e;
const CAPITAL_T = 0x54;

/** The length of `YYYY-MM-DDTHH:MM:SS.mmmZ"`. */
const LENGTH = 25;
const ending = ScanText.of('Z"');

/** The days of each month, from January at 1 on. */
const days = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * Where the instant that begins at an offset ends, with the quote behind it: `YYYY-MM-DDTHH:MM:SS.mmmZ"`, of
 * a day and a time that there are. -1 where none does. The 29th of February is for the parser.
 */
export function instantEnd(bytes: DataView, start: number): number {
  if (start === -1 || start + LENGTH > bytes.byteLength) return -1;
  return isDate(bytes, start) && isTime(bytes, start + 10) ? ending.endAt(bytes, start + 23) : -1;
}

function isDate(bytes: DataView, start: number): boolean {
  if (bytes.getUint8(start + 4) !== DASH || bytes.getUint8(start + 7) !== DASH) return false;
  const day = twoDigits(bytes, start + 8);
  return (
    twoDigits(bytes, start) >= 0 &&
    twoDigits(bytes, start + 2) >= 0 &&
    day >= 1 &&
    day <= (days[twoDigits(bytes, start + 5)] ?? 0)
  );
}

function isTime(bytes: DataView, start: number): boolean {
  return (
    bytes.getUint8(start) === CAPITAL_T &&
    isBelow(24, twoDigits(bytes, start + 1)) &&
    bytes.getUint8(start + 3) === COLON &&
    isBelow(60, twoDigits(bytes, start + 4)) &&
    bytes.getUint8(start + 6) === COLON &&
    isBelow(60, twoDigits(bytes, start + 7)) &&
    bytes.getUint8(start + 9) === POINT &&
    twoDigits(bytes, start + 10) >= 0 &&
    isDigit(bytes.getUint8(start + 12))
  );
}

function isBelow(limit: number, value: number): boolean {
  return value >= 0 && value < limit;
}

/** The number that two digits write; -1 where others stand there. */
function twoDigits(bytes: DataView, at: number): number {
  const tens = bytes.getUint8(at);
  const ones = bytes.getUint8(at + 1);
  return isDigit(tens) && isDigit(ones) ? (tens - ZERO) * 10 + ones - ZERO : -1;
}
