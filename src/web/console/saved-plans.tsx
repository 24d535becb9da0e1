/** A plan in a file: what it would change, which approval it needs and has, and applying it. */
import {
  Alert,
  Button,
  Card,
  CardBody,
  Form,
  FormGroup,
  Label,
  PageSection,
  TextInput,
} from '@patternfly/react-core';
import { type ReactNode, useState } from 'react';
import { useSearchParams } from 'react-router';
import { Loaded } from '../shared/states.tsx';
import { type ApprovalRule, query, useFacts, useRead } from './api.ts';
import { GuardFields, noGuards, ruleText } from './guards.tsx';
import { type Account, AccountFields, useBegin } from './operation.tsx';
import { CommandLine, Heading, Printed } from './parts.tsx';

/** A plan as the console read it from its file. */
interface SavedPlanRead {
  readonly path: string;
  /** The command of the approver. */
  readonly approve: string;
  readonly text: string;
  readonly context: string;
  readonly state: 'approved' | 'none' | 'invalid';
  readonly why: string | null;
  readonly approvalNeeded: boolean;
  readonly approvers: readonly string[];
  readonly applied: { readonly isDone: boolean } | null;
  readonly rule: ApprovalRule;
}

/** The page. */
export function SavedPlans(): ReactNode {
  const [search, setSearch] = useSearchParams();
  const path = search.get('path') ?? '';
  const approvalFile = search.get('approval') ?? '';
  const read = useRead<SavedPlanRead>(path === '' ? null : query('/api/saved-plan', { path, approvalFile }));
  return (
    <>
      <Heading title="Saved plans" />
      <PageSection>
        <FileForm
          key={`${path} ${approvalFile}`}
          path={path}
          approvalFile={approvalFile}
          isReading={read.isFetching}
          onShow={(chosen) => {
            setSearch((before) => {
              before.set('path', chosen.path);
              if (chosen.approvalFile === '') before.delete('approval');
              else before.set('approval', chosen.approvalFile);
              return before;
            });
            void read.refetch();
          }}
        />
      </PageSection>
      {path !== '' && (
        <PageSection>
          <Loaded query={read}>{(plan) => <PlanCard {...{ plan, approvalFile }} />}</Loaded>
        </PageSection>
      )}
    </>
  );
}

interface Files {
  readonly path: string;
  readonly approvalFile: string;
}

function FileForm(
  props: Files & { readonly isReading: boolean; readonly onShow: (files: Files) => void },
): ReactNode {
  const [path, setPath] = useState(props.path);
  const [approvalFile, setApproval] = useState(props.approvalFile);
  return (
    <Form
      className="narrow"
      onSubmit={(event) => {
        event.preventDefault();
        props.onShow({ path: path.trim(), approvalFile: approvalFile.trim() });
      }}
    >
      <FormGroup label="File of the plan, on the machine of the console" fieldId="path" isRequired>
        <TextInput id="path" value={path} isRequired onChange={(_event, value) => setPath(value)} />
      </FormGroup>
      <FormGroup
        label="File of the approval (empty: the plan's file with .approval added)"
        fieldId="approval"
      >
        <TextInput id="approval" value={approvalFile} onChange={(_event, value) => setApproval(value)} />
      </FormGroup>
      <div className="actions">
        <Button type="submit" isDisabled={path.trim() === ''} isLoading={props.isReading}>
          Show the plan
        </Button>
      </div>
    </Form>
  );
}

/** The state of an approval: of what is needed, in the color of it. */
function ApprovalLabel({ plan: { state, approvalNeeded } }: { readonly plan: SavedPlanRead }): ReactNode {
  if (state === 'approved') return <Label color="green">approved</Label>;
  if (state === 'invalid') return <Label color="red">approval invalid</Label>;
  return approvalNeeded ? <Label color="orange">no approval yet</Label> : <Label>no approval</Label>;
}

function PlanCard({
  plan,
  approvalFile,
}: {
  readonly plan: SavedPlanRead;
  readonly approvalFile: string;
}): ReactNode {
  const { path, approve, text, context, state, why, approvers, applied, rule } = plan;
  const { places, readOnly } = useFacts();
  const [account, setAccount] = useState<Account>({ reason: '', ticket: '' });
  const [guards, setGuards] = useState(noGuards);
  const begin = useBegin();
  const isHere = places.includes(context);
  return (
    <Card component="section" aria-label="Saved plan">
      <CardBody className="stacked">
        <p>
          <ApprovalLabel plan={plan} />{' '}
          {applied !== null && (
            <Label color={applied.isDone ? 'grey' : 'orange'}>
              {applied.isDone ? 'applied' : 'begun, not finished'}
            </Label>
          )}
        </p>
        {why !== null && <Alert isInline variant="danger" title={why} />}
        {ruleText(rule) !== null && <p>{ruleText(rule)}</p>}
        <Printed text={text} label="Saved plan" />
        {state !== 'approved' && approvers.length > 0 && (
          <>
            <p>For the approver, who has to be another person:</p>
            <CommandLine command={approve} />
          </>
        )}
        {!isHere && (
          <Alert
            isInline
            variant="warning"
            title={`This console does not have the context ${context} of the plan.`}
          />
        )}
        {isHere && !readOnly && (
          <Form className="narrow">
            <GuardFields rule={rule} guards={guards} onChange={setGuards} isSaved />
            <AccountFields account={account} onChange={setAccount} />
            {begin.error !== null && (
              <Alert isInline isLiveRegion variant="danger" title={begin.error.message} />
            )}
            <div className="actions">
              <Button
                variant="danger"
                isDisabled={begin.isPending}
                isLoading={begin.isPending}
                onClick={() =>
                  begin.mutate({
                    ...{ kind: 'plan apply', place: context, path, ...account },
                    ...(approvalFile !== '' && { approvalFile }),
                    ...(guards.breakGlass && { breakGlass: true }),
                  })
                }
              >
                Apply…
              </Button>
            </div>
          </Form>
        )}
      </CardBody>
    </Card>
  );
}
