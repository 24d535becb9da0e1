/** An exception of the policy as text for the configuration. */

import {
  ClipboardCopy,
  ClipboardCopyVariant,
  Form,
  FormGroup,
  Modal,
  ModalBody,
  ModalHeader,
} from '@patternfly/react-core';
import { Choice } from '@tokenctl/common/web/choice.tsx';
import { Code } from '@tokenctl/common/web/code.tsx';
import { numberText } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useState } from 'react';
import type { AuditsTogether } from '../../console/audits-together.ts';
import { type Json, query, useRead } from './api.ts';
import { TextField } from './fields.tsx';
import { Failure } from './parts.tsx';

export type RuleRead = Json<AuditsTogether>['rules'][number];

/** Formats an exception of the policy, to copy into the configuration, which the console does not write. */
export function ExceptionDialog(props: { readonly read: RuleRead; readonly onClose: () => void }): ReactNode {
  const { onClose } = props;
  const { rule, owners, applications, exceptions, count } = props.read;
  const [about, setAbout] = useState('');
  const [reason, setReason] = useState('');
  const [until, setUntil] = useState('');
  const options = [
    ...owners.map((each) => ({ ...each, value: `user ${each.name}`, label: `owner ${each.name}` })),
    ...applications.map((each) => ({
      ...each,
      value: `application ${each.name}`,
      label: `application ${each.name}`,
    })),
  ];
  const chosen = options.find(({ value }) => value === about);
  const criterion = chosen && { [about.startsWith('user ') ? 'user' : 'application']: chosen.name };
  const read = useRead<{ readonly yaml: string }>(
    reason.trim() === '' ? null : query('/api/audit/exception', { rule, ...criterion, reason, until }),
  );
  return (
    <Modal isOpen variant="medium" onClose={onClose} aria-labelledby="exception-title">
      <ModalHeader title={`Exception of ${rule}`} labelId="exception-title" />
      <ModalBody tabIndex={0} aria-label="The exception">
        <Form onSubmit={(event) => event.preventDefault()}>
          <FormGroup label="Excuses" fieldId="exception-about">
            <Choice
              id="exception-about"
              aria-label="Excuses"
              value={about}
              options={[
                ['', `everything it finds (${numberText(count)} now)`],
                ...options.map(
                  (each) => [each.value, `${each.label} (${numberText(each.count)} now)`] as const,
                ),
              ]}
              onChange={setAbout}
            />
          </FormGroup>
          <TextField id="exception-reason" label="Reason" value={reason} isRequired onChange={setReason} />
          <TextField
            id="exception-until"
            label="Last day (UTC)"
            type="date"
            value={until}
            onChange={setUntil}
          />
        </Form>
        {reason.trim() === '' && (
          <p className="hint">Enter a reason to get the configuration lines to copy.</p>
        )}
        <Failure error={read.error} />
        {read.data !== undefined && reason.trim() !== '' && (
          <>
            <p className="counts">
              For the configuration, or for a file of <Code text="--policy" /> without its first line.
              {exceptions > 0 &&
                ` The policy has ${numberText(exceptions)} for this rule. Add this one to the list.`}
            </p>
            <ClipboardCopy
              isCode
              isReadOnly
              isExpanded
              variant={ClipboardCopyVariant.expansion}
              hoverTip="Copy"
              clickTip="Copied"
              textAriaLabel="Exception as YAML"
              key={read.data.yaml}
            >
              {read.data.yaml}
            </ClipboardCopy>
          </>
        )}
      </ModalBody>
    </Modal>
  );
}
