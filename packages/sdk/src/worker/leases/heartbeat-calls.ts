import { MillraceError } from '../../errors/call-errors.js';
import type { Transport } from '../../http/transport.js';
import type { JsonObject } from '../../json/object.js';
import type { HeartbeatResponse, HeartbeatsResponse, JobStatus } from '../../wire/index.js';
import type { AssumedFeatures } from '../calls/assumed-features.js';
import { eachOf, isUnknownRoute } from '../calls/calls.js';

export interface Beat {
  readonly jobId: string;
  readonly token: string;
  readonly progress?: JsonObject | undefined;
}

/** What a heartbeat was answered with: a status of the job, that it is not ours, or nothing that counts. */
export type BeatAnswer = JobStatus | 'lease_lost' | 'not_found' | 'unanswered';

/** The most leases that the service extends in one call. */
const MOST_PER_CALL = 1_000;
/** Plain heartbeats in flight at a time, against a server that takes them one by one. */
const PLAIN_AT_ONCE = 16;

/** Sends heartbeats; never rejects. Answers in the order of the beats. */
export async function sendHeartbeats(
  transport: Transport,
  features: AssumedFeatures,
  beats: readonly Beat[],
  { extendSecs, timeoutMs }: { readonly extendSecs: number; readonly timeoutMs: number },
): Promise<BeatAnswer[]> {
  const sent = features.has('progress') ? beats : beats.map(withoutProgress);
  if (features.has('heartbeats')) {
    const parts: (readonly Beat[])[] = [];
    for (let at = 0; at < sent.length; at += MOST_PER_CALL) parts.push(sent.slice(at, at + MOST_PER_CALL));
    const answers = await Promise.all(parts.map((part) => gathered(transport, features, part, extendSecs, timeoutMs)));
    if (features.has('heartbeats')) return answers.flat();
  }
  const answers = new Map<Beat, BeatAnswer>();
  await eachOf(sent, PLAIN_AT_ONCE, async (beat) => {
    answers.set(beat, await plain(transport, beat, extendSecs, timeoutMs));
  });
  return sent.map((beat) => answers.get(beat) ?? 'unanswered');
}

async function gathered(
  transport: Transport,
  features: AssumedFeatures,
  beats: readonly Beat[],
  extendSecs: number,
  timeoutMs: number,
): Promise<BeatAnswer[]> {
  const leases = beats.map(({ jobId, token, progress }) => ({
    job_id: jobId,
    lease_token: token,
    ...(progress !== undefined && { progress }),
  }));
  try {
    const { body } = await transport.call<HeartbeatsResponse>({
      method: 'POST',
      path: '/heartbeats',
      body: { extend_secs: extendSecs, leases },
      timeoutMs,
    });
    return beats.map((_, index) => answerOf(body.leases[index]?.status ?? body.leases[index]?.code));
  } catch (error) {
    if (isUnknownRoute(error)) features.lacks('heartbeats');
    if (isRefused(error) && beats.some(({ progress }) => progress !== undefined)) {
      return gathered(transport, features, beats.map(withoutProgress), extendSecs, timeoutMs);
    }
    return beats.map(() => 'unanswered');
  }
}

/** The lease matters more than what was said about the work: progress that the server refuses is dropped. */
const isRefused = (error: unknown): boolean =>
  error instanceof MillraceError && (error.status === 400 || error.status === 413);
const withoutProgress = ({ jobId, token }: Beat): Beat => ({ jobId, token });

async function plain(transport: Transport, beat: Beat, extendSecs: number, timeoutMs: number): Promise<BeatAnswer> {
  const { jobId, token, progress } = beat;
  try {
    const { body } = await transport.call<HeartbeatResponse>({
      method: 'POST',
      path: `/jobs/${encodeURIComponent(jobId)}/heartbeat`,
      body: { lease_token: token, extend_secs: extendSecs, ...(progress !== undefined && { progress }) },
      timeoutMs,
    });
    return answerOf(body.status);
  } catch (error) {
    if (isRefused(error) && progress !== undefined) return plain(transport, { jobId, token }, extendSecs, timeoutMs);
    return error instanceof MillraceError ? answerOf(error.code) : 'unanswered';
  }
}

const MEANT: readonly string[] = [
  'pending',
  'running',
  'retrying',
  'completed',
  'failed',
  'cancelled',
  'lease_lost',
  'not_found',
] satisfies BeatAnswer[];

/** Codes that say nothing about the lease count as no answer. */
const answerOf = (word: string | undefined): BeatAnswer =>
  word !== undefined && MEANT.includes(word) ? (word as BeatAnswer) : 'unanswered';
