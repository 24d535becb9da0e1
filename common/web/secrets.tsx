/** Values to copy, and secrets that are shown once: they are on the page only as long as the dialog is open. */
import {
  Alert,
  Button,
  FormGroup,
  InputGroup,
  InputGroupItem,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
  Stack,
  StackItem,
  TextInput,
} from '@patternfly/react-core';
import { type ReactNode, useId, useRef, useState } from 'react';

/** A text in a read-only field, with a button that copies it. */
export function CopyText({ label, value }: { label: string; value: string }): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    input.current?.select();
    // Without https, browsers offer only the old way.
    const done = navigator.clipboard?.writeText(value) ?? Promise.reject(new Error('no clipboard'));
    setCopied(
      await done.then(
        () => true,
        () => document.execCommand('copy'),
      ),
    );
  };
  return (
    <InputGroup>
      <InputGroupItem isFill>
        <TextInput
          ref={input}
          aria-label={label}
          value={value}
          readOnlyVariant="default"
          className="copied-text"
        />
      </InputGroupItem>
      <InputGroupItem>
        <Button variant="control" aria-label={`Copy ${label.toLowerCase()}`} onClick={() => void copy()}>
          {isCopied ? 'Copied' : 'Copy'}
        </Button>
      </InputGroupItem>
    </InputGroup>
  );
}

/** Shows secrets that cannot be retrieved again. */
export function SecretDialog(props: {
  readonly title: string;
  /** Names and values. */
  readonly secrets: readonly (readonly [string, string])[];
  readonly children?: ReactNode;
  readonly onClose: () => void;
}): ReactNode {
  const { title, secrets, children, onClose } = props;
  const id = useId();
  return (
    <Modal isOpen variant="medium" aria-labelledby={id} onEscapePress={() => undefined}>
      <ModalHeader title={title} labelId={id} />
      <ModalBody>
        <Stack hasGutter>
          <StackItem>
            <Alert
              isInline
              variant="warning"
              component="p"
              title="Copy it now. It will not be shown again."
            />
          </StackItem>
          {secrets.map(([name, value]) => (
            <StackItem key={name}>
              <FormGroup label={name}>
                <CopyText label={name} value={value} />
              </FormGroup>
            </StackItem>
          ))}
          {children !== undefined && <StackItem>{children}</StackItem>}
        </Stack>
      </ModalBody>
      <ModalFooter>
        <Button onClick={onClose}>Close</Button>
      </ModalFooter>
    </Modal>
  );
}
