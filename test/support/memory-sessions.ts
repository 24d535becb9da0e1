import type { Session } from '../../src/domain/token.ts';
import type { SessionSelector } from '../../src/operations/ports/target-parts.ts';

/** A session of alice that began last week. */
export function session(other: Partial<Session> = {}): Session {
  return {
    user: { id: 2, username: 'alice' },
    created: new Date('2026-11-13T00:00:00Z'),
    expires: new Date('2026-11-27T00:00:00Z'),
    fingerprint: 'aaaaaaaaaaaa',
    ...other,
  };
}

/** The sessions of a target that is a map. */
export class MemorySessions {
  readonly live: Session[] = [];
  /** Called before each session ends; what it throws ends the work, `kept` keeps the session. */
  onEnd: (session: Session) => 'kept' | undefined = () => undefined;

  async *list(selector: SessionSelector): AsyncIterable<Session> {
    for (const each of this.live.filter((one) => isMeant(one, selector))) yield await Promise.resolve(each);
  }

  async *end(selector: SessionSelector): AsyncIterable<Session> {
    for (const each of this.live.filter((one) => isMeant(one, selector))) {
      if (this.onEnd(each) !== 'kept') this.live.splice(this.live.indexOf(each), 1);
      yield await Promise.resolve(each);
    }
  }
}

function isMeant({ user }: Session, selector: SessionSelector): boolean {
  return 'all' in selector || (user !== null && selector.userIds.includes(user.id));
}
