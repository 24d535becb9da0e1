/** A plan in a file: what it would change, its required and existing approval, and how to apply it. */

import {
  Button,
  Card,
  CardBody,
  ExpandableSection,
  Form,
  FormGroup,
  Label,
  PageSection,
} from '@patternfly/react-core';
import { useMutation } from '@tanstack/react-query';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { Loaded } from '@tokenctl/common/web/states.tsx';
import { type ReactNode, useState } from 'react';
import type { ShownPlan } from '../../console/saved-plans.ts';
import { call, type Json, query, useAddress, useFacts, useRead } from './api.ts';
import { type Account, AccountFields, useBegin } from './begin.tsx';
import { CommandLine } from './commands.tsx';
import { Report } from './document.tsx';
import { TextField } from './fields.tsx';
import { GuardFields, noGuards, ruleText } from './guards.tsx';
import { Failure, Message } from './parts.tsx';

/** A plan as the console read it from its file. */
type SavedPlanRead = Json<ShownPlan>;

export function SavedPlans(): ReactNode {
  const [search, change] = useAddress();
  const path = search.get('path') ?? '';
  const approvalFile = search.get('approval') ?? '';
  const read = useRead<SavedPlanRead>(path === '' ? null : query('/api/saved-plan', { path, approvalFile }));
  const show = (chosen: Files) => {
    change({ path: chosen.path, approval: chosen.approvalFile });
    // The approval at the same path may have changed.
    if (chosen.path === path) void read.refetch();
  };
  return (
    <>
      <PageHeading title="Saved plans" />
      <PageSection>
        <p>
          A plan that was saved to a file by a command with <code>--plan-out</code> or by a form here. Check
          what it would change and who must approve it, and apply it.
        </p>
        <UploadForm onShow={show} />
        <PathForm
          key={`${path} ${approvalFile}`}
          path={path}
          approvalFile={approvalFile}
          isReading={read.isFetching}
          onShow={show}
        />
      </PageSection>
      {path !== '' && (
        <PageSection>
          <Loaded query={read}>{(plan) => <PlanCard plan={plan} approvalFile={approvalFile} />}</Loaded>
        </PageSection>
      )}
    </>
  );
}

interface Files {
  readonly path: string;
  readonly approvalFile: string;
}

/** The maximum size of a plan and of an approval, in bytes. */
const MAX_FILE = 16 * 1024 * 1024;

/** Sends a plan from a file of the browser, with its approval, and shows it from the console's store. */
function UploadForm({ onShow }: { onShow: (files: Files) => void }): ReactNode {
  const [plan, setPlan] = useState<File | null>(null);
  const [approval, setApproval] = useState<File | null>(null);
  const upload = useMutation({
    mutationFn: async (chosen: File) => {
      const large = [chosen, approval].find((file) => file !== null && file.size > MAX_FILE);
      if (large != null) throw new Error(`${large.name} is larger than 16 MiB.`);
      const body = {
        name: chosen.name,
        plan: await chosen.text(),
        ...(approval !== null && { approval: await approval.text() }),
      };
      return await call<{ path: string }>('/api/saved-plan', { body });
    },
    onSuccess: ({ path }) => onShow({ path, approvalFile: '' }),
  });
  return (
    <Form
      className="narrow"
      onSubmit={(event) => {
        event.preventDefault();
        if (plan !== null) upload.mutate(plan);
      }}
    >
      <FormGroup label="Plan" fieldId="plan-file" className="file" isRequired>
        <input
          type="file"
          id="plan-file"
          accept=".json,application/json"
          onChange={({ target }) => setPlan(target.files?.[0] ?? null)}
        />
      </FormGroup>
      <FormGroup label="Approval, if it is in a separate file" fieldId="approval-file" className="file">
        <input
          type="file"
          id="approval-file"
          onChange={({ target }) => setApproval(target.files?.[0] ?? null)}
        />
      </FormGroup>
      <Failure error={upload.error} />
      <div className="actions">
        <Button type="submit" isDisabled={plan === null || upload.isPending} isLoading={upload.isPending}>
          Show the plan
        </Button>
      </div>
    </Form>
  );
}

function PathForm(props: Files & { readonly isReading: boolean; readonly onShow: (files: Files) => void }) {
  const [path, setPath] = useState(props.path);
  const [approvalFile, setApproval] = useState(props.approvalFile);
  return (
    <ExpandableSection toggleText="A file on the console's machine" isIndented>
      <Form
        className="narrow"
        onSubmit={(event) => {
          event.preventDefault();
          props.onShow({ path: path.trim(), approvalFile: approvalFile.trim() });
        }}
      >
        <TextField id="path" label="Plan path" value={path} isRequired onChange={setPath} />
        <TextField
          id="approval"
          label="Approval path (default: the plan's path plus .approval)"
          value={approvalFile}
          onChange={setApproval}
        />
        <div className="actions">
          <Button
            type="submit"
            variant="secondary"
            isDisabled={path.trim() === ''}
            isLoading={props.isReading}
          >
            Show the plan at this path
          </Button>
        </div>
      </Form>
    </ExpandableSection>
  );
}

/** The state of an approval, colored by what is needed. */
function ApprovalLabel({ plan: { state, approvalNeeded } }: { plan: SavedPlanRead }): ReactNode {
  if (state === 'approved') return <Label color="green">approved</Label>;
  if (state === 'invalid') return <Label color="red">approval invalid</Label>;
  return approvalNeeded ? <Label color="orange">no approval yet</Label> : <Label>no approval</Label>;
}

function PlanCard({ plan, approvalFile }: { plan: SavedPlanRead; approvalFile: string }): ReactNode {
  const { path, approve, text, document, context, state, why, approvers, applied, rule } = plan;
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
              {applied.isDone ? 'applied' : 'started, not finished'}
            </Label>
          )}
        </p>
        {why !== null && <Message variant="danger" title={why} />}
        {ruleText(rule) !== null && <p>{ruleText(rule)}</p>}
        <Report ended={{ document, text }} label="The plan" />
        {state !== 'approved' && approvers.length > 0 && (
          <>
            <p>For the approver, who must be another person:</p>
            <CommandLine command={approve} />
          </>
        )}
        {!isHere && (
          <Message variant="warning" title={`This console does not have the plan's context ${context}.`} />
        )}
        {isHere && !readOnly && (
          <Form className="narrow">
            <GuardFields rule={rule} guards={guards} onChange={setGuards} isSaved />
            <AccountFields account={account} onChange={setAccount} />
            <Failure error={begin.error} />
            <div className="actions">
              <Button
                variant="danger"
                isDisabled={begin.isPending}
                isLoading={begin.isPending}
                onClick={() =>
                  begin.mutate({
                    kind: 'plan apply',
                    place: context,
                    path,
                    ...account,
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
