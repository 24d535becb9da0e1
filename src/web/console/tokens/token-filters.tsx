/** The filters of the token list, and the current ones. */
import {
  Button,
  Label,
  LabelGroup,
  Toolbar,
  ToolbarContent,
  ToolbarItem,
  ToolbarToggleGroup,
} from '@patternfly/react-core';
import FilterIcon from '@patternfly/react-icons/dist/esm/icons/filter-icon';
import { Choice } from '@tokenctl/common/web/choice.tsx';
import { localText, numberText } from '@tokenctl/common/web/times.tsx';
import type { ReactNode } from 'react';
import { query, useAudit } from '../api.ts';
import { TextSearch } from '../commands.tsx';

/** Changes parameters of the URL. */
type Change = (changes: Readonly<Record<string, string | null>>) => void;

/** The criteria in the URL, with their labels; its other parameters are the page's order and selection. */
const NAMES: Readonly<Record<string, string>> = {
  place: 'Context',
  text: 'Text',
  id: 'Token',
  user: 'Owner',
  organization: 'Organization',
  team: 'Team',
  application: 'Application',
  description: 'Description',
  personal: 'Personal',
  scope: 'Scope',
  expiry: 'Expiry',
  expiresWithin: 'Expires within days',
  use: 'Used',
  unusedFor: 'Not used for days',
  createdSince: 'Created since',
  createdBefore: 'Created before',
  expiresSince: 'Expires after',
  expiresBefore: 'Expires by',
  usedSince: 'Used after',
  usedBefore: 'Last used by',
  finding: 'Finding',
};

/** The criteria in a URL. */
export function filterIn(search: URLSearchParams): Readonly<Record<string, string>> {
  return Object.fromEntries([...search].filter(([name]) => name in NAMES));
}

const SCOPES = [
  ['', 'Any scope'],
  ['write', 'Scope write'],
  ['read', 'Scope read'],
] as const;

const EXPIRIES = [
  ['', 'Any expiry'],
  ['expired', 'Expired'],
  ['live', 'Not expired'],
  ['days7', 'Expires within 7 days'],
  ['days30', 'Expires within 30 days'],
  ['days90', 'Expires within 90 days'],
  ['never', 'Never expires'],
] as const;

const LAST_USES = [
  ['', 'Any last use'],
  ['never', 'Never used'],
  ['days30', 'Not used for 30 days'],
  ['days90', 'Not used for 90 days'],
  ['days365', 'Not used for a year'],
] as const;

export interface FiltersProps {
  readonly filter: Readonly<Record<string, string>>;
  readonly onChange: Change;
}

/** The fields of the filter, and the criteria that are set. */
export function Filters({ filter, onChange }: FiltersProps): ReactNode {
  const { place, text = '', scope = '', expiry, expiresWithin, use, unusedFor, finding = '' } = filter;
  return (
    <>
      <Toolbar>
        <ToolbarContent>
          <ToolbarItem className="search">
            <TextSearch
              label="Owner, application, text or ID"
              key={text}
              value={text}
              onChange={(next) => onChange({ text: next })}
            />
          </ToolbarItem>
          <ToolbarToggleGroup toggleIcon={<FilterIcon />} breakpoint="md">
            <ToolbarItem>
              <Choice
                aria-label="Scope"
                value={scope}
                options={SCOPES.some(([word]) => word === scope) ? SCOPES : [...SCOPES, scope]}
                onChange={(next) => onChange({ scope: next })}
              />
            </ToolbarItem>
            <ToolbarItem>
              <Choice
                aria-label="Expiry"
                value={expiry ?? inDays(expiresWithin)}
                options={EXPIRIES}
                onChange={(next) => onChange(choiceOf(next, { word: 'expiry', days: 'expiresWithin' }))}
              />
            </ToolbarItem>
            <ToolbarItem>
              <Choice
                aria-label="Last use"
                value={use ?? inDays(unusedFor)}
                options={LAST_USES}
                onChange={(next) => onChange(choiceOf(next, { word: 'use', days: 'unusedFor' }))}
              />
            </ToolbarItem>
            <ToolbarItem>
              <FindingFilter place={place} value={finding} onChange={onChange} />
            </ToolbarItem>
          </ToolbarToggleGroup>
        </ToolbarContent>
      </Toolbar>
      <ActiveFilters filter={filter} onChange={onChange} />
    </>
  );
}

/** The filters for the owners' organizations and teams. */
export function OwnerFilters({ filter, onChange }: FiltersProps): ReactNode {
  return (
    <div className="actions">
      {(['organization', 'team'] as const).map((name) => (
        <TextSearch
          label={NAMES[name] ?? name}
          key={`${name} ${filter[name]}`}
          value={filter[name] ?? ''}
          onChange={(next) => onChange({ [name]: next })}
        />
      ))}
    </div>
  );
}

/** A number of days as a choice. */
function inDays(days: string | undefined): string {
  return days === undefined ? '' : `days${days}`;
}

/** The criteria of a choice: a word, or a number of days. */
function choiceOf(choice: string, names: { readonly word: string; readonly days: string }) {
  return choice.startsWith('days')
    ? { [names.word]: null, [names.days]: choice.slice(4) }
    : { [names.word]: choice, [names.days]: null };
}

/** The policy's rules with findings in a context, or in all. */
function FindingFilter(props: {
  readonly place: string | undefined;
  readonly value: string;
  readonly onChange: Change;
}): ReactNode {
  const { place, value, onChange } = props;
  const { data } = useAudit(query('/api/audit', { place }));
  const rules = data?.rules.filter(({ count, selects }) => count > 0 && selects) ?? [];
  const found = rules.map(({ rule, count }) => [rule, `${rule} (${numberText(count)})`] as const);
  const other = value !== '' && rules.every(({ rule }) => rule !== value) ? [value] : [];
  return (
    <Choice
      aria-label="Finding"
      value={value}
      options={[['', 'Any finding'], ...other, ...found]}
      onChange={(finding) => onChange({ finding })}
    />
  );
}

/** A point in time as in the table; anything else unchanged. */
function valueText(name: string, value: string): string {
  const at = /Since|Before/.test(name) ? new Date(value) : null;
  return at === null || Number.isNaN(at.getTime()) ? value : localText(at);
}

/** The criteria that are not a pair of a name and a value. */
const SENTENCES: Readonly<Record<string, (value: string) => string>> = {
  personal: () => 'Personal tokens only',
  expiry: (which) => EXPIRIES.find(([word]) => word === which)?.[1] ?? which,
  expiresWithin: (days) => `Expires within ${days} days`,
  unusedFor: (days) => `Not used for ${days} days`,
};

export function criterionText(name: string, value: string): string {
  return SENTENCES[name]?.(value) ?? `${NAMES[name]}: ${valueText(name, value)}`;
}

function ActiveFilters({ filter, onChange }: FiltersProps): ReactNode {
  const active = Object.entries(filter);
  if (active.length === 0) return null;
  return (
    <LabelGroup categoryName="Filters" numLabels={10}>
      {active.map(([name, value]) => (
        <Label
          key={name}
          onClose={() => onChange({ [name]: null })}
          closeBtnAriaLabel={`Remove ${NAMES[name]}`}
        >
          {criterionText(name, value)}
        </Label>
      ))}
    </LabelGroup>
  );
}

/** Shown instead of rows if there are none. */
export function NoTokens(
  props: FiltersProps & {
    /** Whether each context was read to its end, with all of its tokens. */
    readonly isWhole: boolean;
  },
): ReactNode {
  const { filter, onChange, isWhole } = props;
  const names = Object.keys(filter).filter((name) => name !== 'place');
  if (names.length > 0) {
    return (
      <p>
        No loaded token matches the filters.{' '}
        <Button
          variant="link"
          isInline
          onClick={() => onChange(Object.fromEntries(names.map((name) => [name, null])))}
        >
          Remove the filters
        </Button>
      </p>
    );
  }
  return (
    <p>
      {isWhole
        ? 'The list is empty. New tokens are listed after a refresh.'
        : 'No token was read. See above for what is missing.'}
    </p>
  );
}
