import { configSecrets, type Config } from '../config/config.js';
import type { LiveCredentials } from '../config/credential-files.js';
import { createLogger, type Logger } from '../telemetry/logger.js';

/** Every secret of the process, also those that come later: the same list until they change. */
export function liveSecrets(config: Config, credentials: LiveCredentials): () => readonly string[] {
  const fixed = configSecrets(config);
  let from = credentials.secrets;
  let secrets = [...fixed, ...from];
  return () => {
    if (credentials.secrets !== from) secrets = [...fixed, ...(from = credentials.secrets)];
    return secrets;
  };
}

/** For what handlers write: lines that tenants will read, as free of secrets as the log. */
export const lineLogger =
  (config: Config, credentials: LiveCredentials) =>
  (sink: (line: string) => void): Logger =>
    createLogger({
      level: 'trace',
      format: 'json',
      secrets: liveSecrets(config, credentials),
      destination: { write: sink },
    });
