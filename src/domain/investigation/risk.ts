import { mostSevereFirst, type Severity } from '../policy/rule.ts';
import type { ItemDraft } from './collect-items.ts';
import { isInherited } from './deed.ts';
import { type FieldVerdict, fieldVerdict } from './field-verdicts.ts';
import type { ItemFinding } from './investigation.ts';
import { nounOf, UNRECORDED_FIELDS } from './kinds.ts';

/** The input of the rules. */
type Judged = Pick<ItemDraft, 'act' | 'group' | 'object' | 'other' | 'role' | 'changes'>;

/** A rule: which items are a risk, its severity, and the problem as a sentence without (secret) values. */
type RiskRule = readonly [
  rule: string,
  severity: Severity,
  finds: (item: Judged) => unknown,
  message: string | ((item: Judged) => string),
];

/** Settings that decide who may log in, how, and for how long. */
const AUTHENTICATION =
  /^(AUTH_|SOCIAL_AUTH_|OAUTH2_|RADIUS_|TACACSPLUS_|SAML_|ALLOW_OAUTH2|DISABLE_LOCAL_AUTH|SESSION|REMOTE_HOST_HEADERS|PROXY_IP_ALLOWED_LIST|CSRF_|LOGIN_REDIRECT|LOCAL_PASSWORD|ORG_ADMINS_CAN|MANAGE_ORGANIZATION_AUTH|ACTIVITY_STREAM)/;
/** The same for a gateway, which also signs what it tells other components about a user. */
const GATEWAY_AUTHENTICATION =
  /^(gateway_|jwt_|password_min_|allow_admins_to_set_insecure|MAX_EXTRA_SESSIONS|status_endpoint_backend_verify)/;
/** Settings that expand what jobs can run, or where they can run. */
const EXECUTION =
  /^(AWX_|AD_HOC_COMMANDS|ALLOW_JINJA|GALAXY_|DEFAULT_EXECUTION_ENVIRONMENT|AUTOMATION_|PROJECT_|STDOUT_|MAX_|SCHEDULE_|CUSTOM_VENV|TOWER_URL_BASE|LOG_AGGREGATOR)/;
const isAuthentication = (name: string | null) =>
  name !== null && (AUTHENTICATION.test(name) || GATEWAY_AUTHENTICATION.test(name));
const ADMIN_ROLE = /^(admin_role|system_administrator|member_role|.*_admin_role)$/;
const RUN_ROLE = /^(execute_role|use_role|update_role|adhoc_role|approval_role|system_auditor|auditor_role)$/;

const made = (kind: string) => (item: Judged) => item.act === 'made' && item.object.kind === kind;
const isWritten = ({ act }: Judged) => act === 'made' || act === 'changed';
const written = (kind: string) => (item: Judged) => item.object.kind === kind && isWritten(item);
const touched = (item: Judged, ...fields: readonly string[]) =>
  item.role === null && item.other === null && fields.find((field) => item.changes.has(field));
const after = (item: Judged, field: string) => item.changes.get(field)?.after;
/** The role that a user or team received; null if none. */
const granted = (item: Judged) => (item.act === 'granted' && !isInherited(item) ? item.role : null);
/** The role's name; empty if unknown. */
const grantedRole = (item: Judged) => granted(item)?.field ?? '';
/** The name of the setting; null for anything else. */
const settingName = ({ object }: Judged) => (object.kind === 'setting' ? (object.name ?? '') : null);

function verdictsOf({ act, role, other, object, changes }: Judged): readonly (FieldVerdict | null)[] {
  if (act !== 'changed' || role !== null || other !== null) return [];
  return [...changes.keys()].map((field) => fieldVerdict(object.kind, field));
}

const RULES: readonly RiskRule[] = [
  ['superuser', 'critical', (item) => after(item, 'is_superuser') === true, 'The user is a superuser.'],
  [
    'system-auditor',
    'high',
    (item) => after(item, 'is_system_auditor') === true,
    'The user can read everything.',
  ],
  [
    'admin-role',
    'critical',
    (item) => granted(item) !== null && (grantedRole(item) === '' || ADMIN_ROLE.test(grantedRole(item))),
    'The role administers its object, or joins a team with its roles.',
  ],
  ['role', 'high', (item) => RUN_ROLE.test(grantedRole(item)), 'The role uses or runs its object.'],
  [
    'read-role',
    'medium',
    (item) => {
      const role = grantedRole(item);
      return role !== '' && !ADMIN_ROLE.test(role) && !RUN_ROLE.test(role);
    },
    'The role can see its object.',
  ],
  [
    'inherited-role',
    'high',
    (item) => item.act === 'granted' && isInherited(item),
    'Holders of one role also have the other role.',
  ],
  ['new-user', 'high', made('user'), 'A user that the actor created can log in with its own password.'],
  [
    'password-set',
    'critical',
    (item) => item.object.kind === 'user' && item.act === 'changed' && touched(item, 'password'),
    "The actor knows the user's password.",
  ],
  ['new-token', 'high', made('o_auth2_access_token'), 'The actor knows the token.'],
  [
    'application',
    'high',
    written('o_auth2_application'),
    'The actor may know the client secret, and controls where users are redirected with their codes.',
  ],
  [
    'authenticator',
    'critical',
    written('authenticator'),
    'It controls who can log in, and under which name.',
  ],
  [
    'authenticator-map',
    'critical',
    written('authenticator_map'),
    'It gives users permissions when they log in.',
  ],
  ['new-team', 'low', made('team'), 'Its members share its roles.'],
  [
    'authentication-setting',
    'critical',
    (item) => isAuthentication(settingName(item)),
    'The setting controls who gets access, how, or what is recorded.',
  ],
  [
    'execution-setting',
    'high',
    (item) => EXECUTION.test(settingName(item) ?? ''),
    'The setting controls what jobs may run, or where records are sent.',
  ],
  [
    'setting',
    'medium',
    (item) => {
      const name = settingName(item);
      return name !== null && item.act !== 'deleted' && !isAuthentication(name) && !EXECUTION.test(name);
    },
    'A setting of the controller was changed.',
  ],
  [
    'credential',
    'high',
    written('credential'),
    'Jobs use it to log in to other systems, as the actor configured it or where the actor directs them.',
  ],
  [
    'credential-source',
    'high',
    written('credential_input_source'),
    'Jobs log in with a secret from a source that the actor specified.',
  ],
  [
    'credential-type',
    'high',
    written('credential_type'),
    'It controls which variables and files jobs get from credentials of this type.',
  ],
  ['schedule', 'high', written('schedule'), 'The schedule starts jobs later.'],
  [
    'webhook',
    'high',
    (item) => touched(item, 'webhook_service', 'webhook_credential') && after(item, 'webhook_service') !== '',
    'Anyone with the webhook key can start jobs without a token.',
  ],
  [
    'provisioning-callback',
    'high',
    (item) => touched(item, 'host_config_key') && after(item, 'host_config_key') !== '',
    'Anyone with the provisioning callback key can start jobs without a token.',
  ],
  [
    'project-source',
    'critical',
    (item) =>
      item.object.kind === 'project' &&
      touched(item, 'scm_url', 'scm_branch', 'scm_type', 'scm_refspec', 'local_path'),
    'Every job of the project runs the code from there.',
  ],
  [
    'image',
    'critical',
    (item) => item.object.kind === 'execution_environment' && touched(item, 'image'),
    'Jobs run inside this image.',
  ],
  [
    'what-runs',
    'high',
    (item) =>
      item.role === null &&
      item.other === null &&
      isWritten(item) &&
      item.object.kind !== 'schedule' &&
      [...item.changes.keys()].some((field) => fieldVerdict(item.object.kind, field) === 'code'),
    ({ object }) => `The ${nounOf(object.kind)} controls what runs, where, or with which permissions.`,
  ],
  [
    'access-changed',
    'high',
    (item) => verdictsOf(item).includes('access'),
    'The change affects who has access, or to what.',
  ],
  [
    'secrets-shown',
    'high',
    (item) => verdictsOf(item).includes('secrets'),
    'The output of later jobs may reveal secrets.',
  ],
  [
    'unrated-field',
    'high',
    (item) => verdictsOf(item).includes(null),
    'A field was changed, and this version of tokenctl does not know its effect.',
  ],
  [
    'unrecorded-change',
    'high',
    (item) => touched(item, UNRECORDED_FIELDS),
    'The actor changed it last, but no entry says what was changed: entries are missing.',
  ],
  [
    'linked',
    'medium',
    ({ group, act }) => group === 'code_later' && act === 'linked',
    'It affects what later jobs use, or who is notified.',
  ],
  ['ran', 'high', ({ act }) => act === 'launched', "Code ran on hosts with the job's credentials."],
  [
    'records-deleted',
    'critical',
    ({ act, object }) => act === 'launched' && object.kind === 'system_job',
    'Management jobs delete records: entries of the activity stream, jobs, sessions or tokens.',
  ],
  [
    'deleted',
    'medium',
    ({ act, object }) => act === 'deleted' && object.kind !== 'o_auth2_access_token',
    'The actor deleted it. Restore it from a backup.',
  ],
  ['removed', 'low', ({ act }) => act === 'removed', 'The actor removed it. A user may need it.'],
];

/** The findings of the rules for an item, most severe first. */
export function findingsOn(item: Judged, now: Readonly<Record<string, unknown>> = {}): ItemFinding[] {
  return [...RULES.filter(([, , finds]) => Boolean(finds(item))), ...rulesOfNow(item, now)]
    .map(([rule, severity, , message]) => ({
      ...{ rule, severity },
      message: typeof message === 'string' ? message : message(item),
    }))
    .sort(mostSevereFirst);
}

/** Rights of a created user count even without an entry: SQL leaves none. */
function rulesOfNow(item: Judged, now: Readonly<Record<string, unknown>>): readonly RiskRule[] {
  const isSuperuserSince =
    made('user')(item) && after(item, 'is_superuser') !== true && now['is_superuser'] === true;
  const message =
    'The user is now a superuser, according to the controller. No entry of the actor made the user a superuser.';
  return isSuperuserSince ? [['superuser-now', 'critical', () => true, message]] : [];
}
