/** A list's filter by a time: presets, or two days. */
import { Flex, TextInput } from '@patternfly/react-core';
import { type ReactNode, useState } from 'react';
import { MenuChoice } from './choice.tsx';
import { inDays, isNever, localText } from './times.tsx';

/** The times that a list can be filtered by. */
export interface DateRange {
  /** The query parameters of its start and end, such as `expires__gt` and `expires__lt`. */
  readonly from: string;
  readonly to: string;
  /** Presets: the label, and start and end in days from now; null for none. */
  readonly presets: readonly (readonly [string, number | null, number | null])[];
  /** The order of the list once a range is chosen. */
  readonly order?: string;
}

type Parameters = Readonly<Record<string, string>>;

const CUSTOM = 'Custom dates';

function parametersOf({ from, to }: DateRange, begin: number | null, end: number | null): Parameters {
  return { [from]: begin === null ? '' : inDays(begin), [to]: end === null ? '' : inDays(end) };
}

/** The name of a range in the URL: a preset's label, otherwise its local times; null for none. */
export function rangeText(range: DateRange, parameters: Parameters): string | null {
  const [from = '', to = ''] = [parameters[range.from], parameters[range.to]];
  if (from === '' && to === '') return null;
  const preset = range.presets.find(([, begin, end]) => {
    const usual = parametersOf(range, begin, end);
    return usual[range.from] === from && usual[range.to] === to;
  });
  if (preset !== undefined) return preset[0];
  const end = localTime(to, 1);
  if (to === '') return isNever(from) ? 'Never' : `from ${localTime(from)}`;
  return from === '' ? `until ${end}` : `${localTime(from)} – ${end}`;
}

/**
 * An API time in the viewer's time zone; any other text unchanged.
 * @param after How many days the time is after the last included day.
 */
export function localTime(value: string, after = 0): string {
  if (!/^\d{4}-\d\d-\d\d/.test(value) || Number.isNaN(Date.parse(value))) return value;
  const text = localText(new Date(value));
  return text.endsWith(' 00:00') ? localDay(value, after) : text;
}

/** A choice of presets, with a field for each end of another range. */
export function RangeInput(props: {
  readonly label: string;
  readonly range: DateRange;
  readonly parameters: Parameters;
  readonly onChange: (changes: Parameters) => void;
}): ReactNode {
  const { label, range, parameters, onChange } = props;
  const text = rangeText(range, parameters);
  const isUsual = range.presets.some(([name]) => name === text);
  const [isCustom, setCustom] = useState(text !== null && !isUsual);
  const order: Parameters = range.order === undefined ? {} : { order_by: range.order };
  const choose = (name: string) => {
    setCustom(name === CUSTOM);
    const [, begin = null, end = null] = range.presets.find(([each]) => each === name) ?? [];
    if (name !== CUSTOM) onChange({ ...parametersOf(range, begin, end), ...(name !== '' && order) });
  };
  const shown = isCustom ? CUSTOM : (text ?? '');
  const names = range.presets.map(([name]) => [name, name] as const);
  const day = (name: string, title: string, after: number) => (
    <DayInput
      label={`${label} ${title}`}
      day={localDay(parameters[name], after)}
      onChange={(value) => onChange({ [name]: startOfDay(value, after), ...order })}
    />
  );
  return (
    <Flex gap={{ default: 'gapSm' }}>
      <MenuChoice
        label={`Filter by ${label.toLowerCase()}`}
        value={shown}
        choices={[['', 'Any time'], ...names, [CUSTOM, CUSTOM]]}
        onChange={choose}
      />
      {isCustom && day(range.from, 'from', 0)}
      {isCustom && day(range.to, 'to', 1)}
    </Flex>
  );
}

/** A day, with the browser's own date picker. */
function DayInput({ label, day, onChange }: { label: string; day: string; onChange: (day: string) => void }) {
  const [text, setText] = useState(day);
  return (
    <TextInput
      type="date"
      aria-label={label}
      value={text}
      onChange={(_event, next) => {
        setText(next);
        // A year is also sent while it is typed, such as 0002 on the way to 2026.
        if (next === '' || next >= '1970') onChange(next);
      }}
    />
  );
}

/** The start of a local day, or of a day after it, in the API's form; empty without a day. */
function startOfDay(day: string, after: number): string {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return day === '' ? '' : new Date(year, month - 1, date + after).toISOString();
}

/** The local day that starts at a time, or that ended `after` days before it. */
function localDay(time: string | undefined, after: number): string {
  if (time === undefined || Number.isNaN(Date.parse(time))) return '';
  const at = new Date(time);
  at.setDate(at.getDate() - after);
  return localText(at).slice(0, 10);
}
