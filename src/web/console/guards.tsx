/** The four-eyes rule in the forms of changes: what needs an approval, and how to save a plan for it. */

import { Button, Checkbox, ExpandableSection, FormGroup } from '@patternfly/react-core';
import { numberText } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useState } from 'react';
import { type ApprovalRule, useFacts } from './api.ts';
import { TextField } from './fields.tsx';
import { Message } from './parts.tsx';

/** The rule of a context in words; null without approvers. */
export function ruleText({ required, approvers, aloneUpTo }: ApprovalRule): string | null {
  if (approvers.length === 0) return null;
  const who = new Intl.ListFormat('en', { type: 'disjunction' }).format(approvers);
  return required
    ? `More than ${numberText(aloneUpTo)} ${aloneUpTo === 1 ? 'token' : 'tokens'}, or a lockdown of more than one user, requires a plan approved by ${who}.`
    : `No approval is required here. A plan can require approval by ${who}.`;
}

/** The choices about the four-eyes rule in a form. */
export interface Guards {
  readonly breakGlass: boolean;
  readonly requireApproval: boolean;
}

export const noGuards: Guards = { breakGlass: false, requireApproval: false };

/** The choices as members of a request. */
export function guardsOf({ breakGlass, requireApproval }: Guards): object {
  return { ...(breakGlass && { breakGlass }), ...(requireApproval && { requireApproval }) };
}

/** Shows the rule of a context, and offers to break glass if it allows that. */
export function GuardFields(props: {
  readonly rule: ApprovalRule | undefined;
  readonly guards: Guards;
  readonly onChange: (guards: Guards) => void;
  /** Whether it is for a saved plan, which has its own requirement. */
  readonly isSaved?: boolean;
}): ReactNode {
  const { rule, guards, onChange, isSaved = false } = props;
  if (rule === undefined || rule.approvers.length === 0) return null;
  return (
    <FormGroup role="group" label="Four-eyes approval" fieldId="require-approval">
      {!isSaved && (
        <>
          <Message isPlain variant="info" title={ruleText(rule)} />
          <Checkbox
            id="require-approval"
            label="Require an approval regardless of the rule"
            isChecked={guards.requireApproval}
            onChange={(_event, requireApproval) => onChange({ ...guards, requireApproval })}
          />
        </>
      )}
      {rule.breakGlass && (
        <Checkbox
          id="break-glass"
          label="Break glass: apply without approval. Requires a reason, and is recorded"
          isChecked={guards.breakGlass}
          onChange={(_event, breakGlass) => onChange({ ...guards, breakGlass })}
        />
      )}
    </FormGroup>
  );
}

/** Saves the plan of a form to a file instead of carrying it out; a read-only console writes none. */
export function SavePlan(props: {
  readonly isDisabled: boolean;
  readonly onSave: (path: string) => void;
}): ReactNode {
  const { isDisabled, onSave } = props;
  const { readOnly } = useFacts();
  const [isOpen, setOpen] = useState(false);
  const [path, setPath] = useState('~/plan.json');
  if (readOnly) return null;
  return (
    <ExpandableSection
      toggleText="Save the plan to a file"
      isExpanded={isOpen}
      onToggle={(_event, value) => setOpen(value)}
    >
      <TextField id="plan-out" label="New file on the console's machine" value={path} onChange={setPath} />
      <div className="actions">
        <Button
          variant="secondary"
          isDisabled={isDisabled || path.trim() === ''}
          onClick={() => onSave(path.trim())}
        >
          Save the plan
        </Button>
      </div>
    </ExpandableSection>
  );
}
