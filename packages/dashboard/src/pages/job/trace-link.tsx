import type { Job } from '@millrace/contract';
import type { ReactNode } from 'react';
import { Icon } from '../../components/icon.js';
import { useWho } from '../../session/session.js';

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The address of a trace: the operator's template with the id that the job carries in its metadata. */
export function traceAddress(template: string | null | undefined, metadata: Job['metadata']): string | null {
  const { traceparent } = metadata;
  const [, id] = typeof traceparent === 'string' ? (TRACEPARENT.exec(traceparent) ?? []) : [];
  // Nothing but a page: whoever sets the template is trusted, a mistake in it is not.
  if (id === undefined || typeof template !== 'string' || !/^https?:\/\//i.test(template)) return null;
  return template.replaceAll('{trace_id}', id);
}

/** Leads to the trace that the job belongs to, where the operator has said in what system traces are. */
export function TraceLink({ job }: { readonly job: Job }): ReactNode {
  // A server of an earlier version says nothing about it.
  const who: { readonly kind: string; readonly trace_url?: string | null } = useWho();
  const address = traceAddress(who.trace_url, job.metadata);
  return address === null ? null : (
    <a className="button" href={address} target="_blank" rel="noopener noreferrer">
      Trace <Icon name="external" size={14} />
    </a>
  );
}
