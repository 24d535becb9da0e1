import {
  Button,
  Form,
  FormGroup,
  FormHelperText,
  HelperText,
  HelperTextItem,
  TextInput,
} from '@patternfly/react-core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { call, type Operation } from './api.ts';
import { sentence } from './case/case-stages.ts';
import { Failure } from './parts.tsx';

/** The input that confirms a plan, and the button that names the action. */
export function ConfirmForm(props: {
  readonly id: string;
  readonly asked: NonNullable<Operation['asked']>;
  readonly onCancel: () => void;
}): ReactNode {
  const { id, asked, onCancel } = props;
  const field = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  // The dialog was open before there was anything to type.
  useEffect(() => (field.current ?? button.current)?.focus(), []);
  const [answer, setAnswer] = useState('');
  const { act, type, digest } = asked;
  const typed = answer.trim();
  const confirm = useMutation({
    mutationFn: () => call(`/api/operations/${id}/confirm`, { body: { digest, answer } }),
  });
  return (
    <Form
      className="confirm"
      onSubmit={(event) => {
        event.preventDefault();
        confirm.mutate();
      }}
    >
      {type !== '' && (
        <FormGroup label={`Type ${type} to confirm`} fieldId="confirm-answer">
          <TextInput
            id="confirm-answer"
            ref={field}
            value={answer}
            autoComplete="off"
            validated={type.startsWith(typed) ? 'default' : 'error'}
            onChange={(_event, value) => setAnswer(value)}
          />
          <FormHelperText>
            <HelperText isLiveRegion>
              {typed !== '' && typed !== type && (
                <HelperTextItem variant={type.startsWith(typed) ? 'default' : 'error'}>
                  Type exactly: {type}
                </HelperTextItem>
              )}
            </HelperText>
          </FormHelperText>
        </FormGroup>
      )}
      <Failure error={confirm.error} />
      <div className="buttons">
        <Button
          ref={button}
          type="submit"
          variant={type === '' ? 'primary' : 'danger'}
          isDisabled={typed !== type || confirm.isPending}
        >
          {sentence(act)}
        </Button>
        <Button variant="link" onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </Form>
  );
}
