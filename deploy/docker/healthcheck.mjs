/**
 * Exits with 0 if the process in this container is alive, else with 1: what a HEALTHCHECK needs, without a shell or
 * curl. The metrics port answers in every mode; a `--metrics-port` has to be given as MILLRACE_METRICS_PORT to be seen
 * here.
 */
const port = process.env.MILLRACE_METRICS_PORT || '9090';

try {
  const answer = await fetch(`http://127.0.0.1:${port}/health`, { signal: AbortSignal.timeout(3000) });
  process.exit(answer.ok ? 0 : 1);
} catch {
  process.exit(1);
}
