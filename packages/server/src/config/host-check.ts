import { isIP } from 'node:net';
import type { Config } from './config.js';

/** Says why a request with this `Host` header is refused, or null if it is not. */
export type HostCheck = (header: string | undefined) => string | null;

/**
 * Which hosts a process answers to. Browsers keep pages of other sites apart by the name in the address, and whoever
 * owns a name can let it lead to this machine. A page cannot do that with an IP address or with localhost.
 */
export function hostCheck({ host, allowedHosts }: Pick<Config, 'host' | 'allowedHosts'>): HostCheck {
  if (allowedHosts === null) return () => null;
  const names = new Set([host.toLowerCase(), ...allowedHosts]);
  return (header) => {
    // Only programs leave it out, and only in HTTP/1.0.
    if (header === undefined) return null;
    const name = nameOf(header);
    if (name !== null && (isLocal(name) || names.has(name))) return null;
    return `this server does not answer to the host ${JSON.stringify(header.slice(0, 100))}; see --allowed-hosts`;
  };
}

/** Without the port, the brackets of an IPv6 address, and the dot that may end a full name. */
function nameOf(header: string): string | null {
  const match = /^(?:\[([^\]]+)\]|([^:]+))(?::\d*)?$/.exec(header.trim().toLowerCase());
  return (match?.[1] ?? match?.[2])?.replace(/\.$/, '') ?? null;
}

const isLocal = (name: string): boolean => isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost');
