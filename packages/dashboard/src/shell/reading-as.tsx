import type { ReactNode } from 'react';
import { Icon } from '../components/icon.js';
import { sayError } from '../components/toasts.js';
import { session, useSession } from '../session/session.js';
import { ADMIN_HOME } from './nav.js';
import { enter } from './sign-in.js';
import { queuePlace } from '../components/links.js';
import { go } from '../lib/routing.js';

/** Reads as a tenant from now on, or as oneself again. Whatever goes wrong, nothing has changed. */
async function become(tenant: string | null): Promise<boolean> {
  const { token } = session.get();
  if (token === null) return false;
  try {
    await enter(token, tenant);
    return true;
  } catch (error) {
    sayError(error);
    return false;
  }
}

/** What opens a tenant's pages to an operator, for reading: the first one, or that of a queue. */
export function openTenant(tenant: string, queue?: string): void {
  void become(tenant).then((done) => {
    if (done) go(queue === undefined ? '/' : queuePlace(queue));
  });
}

/** Says whose pages these are, as long as they are somebody else's, and leads back. */
export function ReadingAs(): ReactNode {
  const { as } = useSession();
  if (as === null) return null;
  const back = (): void => {
    go(ADMIN_HOME);
    void become(null);
  };
  return (
    <div className="band" role="status">
      <Icon name="eye" />
      <span>
        You are reading as <b>{as}</b>. Nothing can be changed, and the server logs what you read.
      </span>
      <button type="button" className="button small" onClick={back}>
        <Icon name="left" size={14} /> Back to all tenants
      </button>
    </div>
  );
}
