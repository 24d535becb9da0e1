import { type Severity, severities } from '../policy/rule.ts';
import type { ItemDraft } from './collect-items.ts';
import type { ItemFinding } from './investigation.ts';
import { isCodeField, nounOf } from './kinds.ts';

/** What the rules look at. */
type Judged = Pick<ItemDraft, 'act' | 'group' | 'object' | 'other' | 'role' | 'changes'>;

/** One rule: what makes an item a risk, and how large. */
interface RiskRule {
  readonly rule: string;
  readonly severity: Severity;
  /** What is wrong, as a sentence; null if the rule finds nothing. Without values: they may be secrets. */
  readonly judge: (item: Judged) => string | null;
}

/** Settings that decide who may log in, how, and for how long. */
const AUTHENTICATION =
  /^(AUTH_|SOCIAL_AUTH_|OAUTH2_|RADIUS_|TACACSPLUS_|SAML_|ALLOW_OAUTH2|DISABLE_LOCAL_AUTH|SESSION|REMOTE_HOST_HEADERS|PROXY_IP_ALLOWED_LIST|CSRF_|LOGIN_REDIRECT|LOCAL_PASSWORD|ORG_ADMINS_CAN|MANAGE_ORGANIZATION_AUTH|ACTIVITY_STREAM)/;
/** The same of a gateway, which also signs what it tells other components about a user. */
const GATEWAY_AUTHENTICATION =
  /^(gateway_|jwt_|password_min_|allow_admins_to_set_insecure|MAX_EXTRA_SESSIONS|status_endpoint_backend_verify)/;
/** Settings that let jobs run what they could not, or reach where they could not. */
const EXECUTION =
  /^(AWX_|AD_HOC_COMMANDS|ALLOW_JINJA|GALAXY_|DEFAULT_EXECUTION_ENVIRONMENT|AUTOMATION_|PROJECT_|STDOUT_|MAX_|SCHEDULE_|CUSTOM_VENV|TOWER_URL_BASE|LOG_AGGREGATOR)/;
const isAuthentication = (name: string) => AUTHENTICATION.test(name) || GATEWAY_AUTHENTICATION.test(name);
const ADMIN_ROLE = /^(admin_role|system_administrator|member_role|.*_admin_role)$/;
const RUN_ROLE = /^(execute_role|use_role|update_role|adhoc_role|approval_role|system_auditor|auditor_role)$/;

const made = (item: Judged, kind: string) => item.act === 'made' && item.object.kind === kind;
const touched = (item: Judged, ...fields: readonly string[]) =>
  item.role === null && item.other === null && fields.find((field) => item.changes.has(field));
const after = (item: Judged, field: string) => item.changes.get(field)?.after;

const RULES: readonly RiskRule[] = [
  {
    rule: 'superuser',
    severity: 'critical',
    judge: (item) => (after(item, 'is_superuser') === true ? 'The user is a superuser.' : null),
  },
  {
    rule: 'system-auditor',
    severity: 'high',
    judge: (item) => (after(item, 'is_system_auditor') === true ? 'The user reads everything.' : null),
  },
  {
    rule: 'admin-role',
    severity: 'critical',
    judge: ({ role, act }) =>
      act === 'granted' && role !== null && (role.field === null || ADMIN_ROLE.test(role.field))
        ? 'The role administers what it is about, or joins a team with its roles.'
        : null,
  },
  {
    rule: 'role',
    severity: 'high',
    judge: ({ role, act }) =>
      act === 'granted' && role?.field && RUN_ROLE.test(role.field)
        ? 'The role uses or runs what it is about.'
        : null,
  },
  {
    rule: 'read-role',
    severity: 'medium',
    judge: ({ role, act }) =>
      act === 'granted' && role?.field && !ADMIN_ROLE.test(role.field) && !RUN_ROLE.test(role.field)
        ? 'The role sees what it is about.'
        : null,
  },
  {
    rule: 'new-user',
    severity: 'high',
    judge: (item) =>
      made(item, 'user') ? 'A user that the actor made can log in with its own password.' : null,
  },
  {
    rule: 'password-set',
    severity: 'critical',
    judge: (item) =>
      item.object.kind === 'user' && item.act === 'changed' && touched(item, 'password')
        ? 'The actor knows the password of the user.'
        : null,
  },
  {
    rule: 'new-token',
    severity: 'high',
    judge: (item) => (made(item, 'o_auth2_access_token') ? 'The actor knows the token.' : null),
  },
  {
    rule: 'application',
    severity: 'high',
    judge: ({ object, act }) =>
      object.kind === 'o_auth2_application' && (act === 'made' || act === 'changed')
        ? 'The actor may know the client secret, and decides where users are sent with their codes.'
        : null,
  },
  {
    rule: 'authenticator',
    severity: 'critical',
    judge: ({ object, act }) =>
      object.kind === 'authenticator' && (act === 'made' || act === 'changed')
        ? 'It decides who logs in, and under which name.'
        : null,
  },
  {
    rule: 'authenticator-map',
    severity: 'critical',
    judge: ({ object, act }) =>
      object.kind === 'authenticator_map' && (act === 'made' || act === 'changed')
        ? 'It gives users rights when they log in.'
        : null,
  },
  {
    rule: 'new-team',
    severity: 'low',
    judge: (item) => (made(item, 'team') ? 'Its members share its roles.' : null),
  },
  {
    rule: 'authentication-setting',
    severity: 'critical',
    judge: ({ object }) =>
      object.kind === 'setting' && isAuthentication(object.name ?? '')
        ? 'The setting decides who gets in, how, or what is recorded.'
        : null,
  },
  {
    rule: 'execution-setting',
    severity: 'high',
    judge: ({ object }) =>
      object.kind === 'setting' && EXECUTION.test(object.name ?? '')
        ? 'The setting decides what jobs may run, or where records go.'
        : null,
  },
  {
    rule: 'setting',
    severity: 'medium',
    judge: ({ object, act }) =>
      object.kind === 'setting' &&
      act !== 'deleted' &&
      !isAuthentication(object.name ?? '') &&
      !EXECUTION.test(object.name ?? '')
        ? 'A setting of the controller was changed.'
        : null,
  },
  {
    rule: 'credential',
    severity: 'high',
    judge: ({ object, act }) =>
      object.kind === 'credential' && (act === 'made' || act === 'changed')
        ? 'Jobs log in elsewhere with it: as the actor chose, or where the actor sends them.'
        : null,
  },
  {
    rule: 'credential-source',
    severity: 'high',
    judge: ({ object, act }) =>
      object.kind === 'credential_input_source' && (act === 'made' || act === 'changed')
        ? 'Jobs log in with a secret that comes from where the actor says.'
        : null,
  },
  {
    rule: 'credential-type',
    severity: 'high',
    judge: ({ object, act }) =>
      object.kind === 'credential_type' && (act === 'made' || act === 'changed')
        ? 'It decides which variables and files jobs get from the credentials of this type.'
        : null,
  },
  {
    rule: 'schedule',
    severity: 'high',
    judge: ({ object, act }) =>
      object.kind === 'schedule' && (act === 'made' || act === 'changed')
        ? 'The schedule starts jobs later.'
        : null,
  },
  {
    rule: 'webhook',
    severity: 'high',
    judge: (item) =>
      touched(item, 'webhook_service', 'webhook_credential') && after(item, 'webhook_service') !== ''
        ? 'Who has the webhook key starts jobs without a token.'
        : null,
  },
  {
    rule: 'provisioning-callback',
    severity: 'high',
    judge: (item) =>
      touched(item, 'host_config_key') && after(item, 'host_config_key') !== ''
        ? 'Who has the provisioning callback key starts jobs without a token.'
        : null,
  },
  {
    rule: 'project-source',
    severity: 'critical',
    judge: (item) =>
      item.object.kind === 'project' &&
      touched(item, 'scm_url', 'scm_branch', 'scm_type', 'scm_refspec', 'local_path')
        ? 'Every job of the project runs the code that is there.'
        : null,
  },
  {
    rule: 'image',
    severity: 'critical',
    judge: (item) =>
      item.object.kind === 'execution_environment' && touched(item, 'image')
        ? 'Jobs run inside this image.'
        : null,
  },
  {
    rule: 'what-runs',
    severity: 'high',
    judge: ({ object, act, changes, other, role }) =>
      role === null &&
      other === null &&
      (act === 'made' || act === 'changed') &&
      object.kind !== 'schedule' &&
      [...changes.keys()].some((field) => isCodeField(object.kind, field))
        ? `The ${nounOf(object.kind)} decides what runs, where, or with which rights.`
        : null,
  },
  {
    rule: 'linked',
    severity: 'medium',
    judge: ({ group, act }) =>
      group === 'code_later' && act === 'linked'
        ? 'It decides what later jobs use, or who is notified.'
        : null,
  },
  {
    rule: 'ran',
    severity: 'high',
    judge: ({ act }) => (act === 'launched' ? 'Code ran on hosts, with the credentials of the job.' : null),
  },
  {
    rule: 'deleted',
    severity: 'medium',
    judge: ({ act, object }) =>
      act === 'deleted' && object.kind !== 'o_auth2_access_token'
        ? 'The actor deleted it: restore it from a backup.'
        : null,
  },
  {
    rule: 'removed',
    severity: 'low',
    judge: ({ act }) => (act === 'removed' ? 'The actor took it away: a user may need it.' : null),
  },
];

/** What the rules find in an item, the most severe first. */
export function findingsOn(item: Judged): ItemFinding[] {
  return RULES.flatMap(({ rule, severity, judge }) => {
    const message = judge(item);
    return message === null ? [] : [{ rule, severity, message }];
  }).sort((a, b) => severities.indexOf(b.severity) - severities.indexOf(a.severity));
}
