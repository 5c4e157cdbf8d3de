import type { ReactNode } from 'react';
import { Icon } from '../components/icon.js';
import { ExactTime } from '../components/time.js';
import { theme, zone, type Theme, type Zone } from '../lib/preferences.js';
import { useStore } from '../lib/store.js';
import { leave } from './sign-in.js';
import { useWho } from '../session/session.js';

const THEMES: readonly (readonly [Theme, string])[] = [
  ['system', 'as the system'],
  ['light', 'light'],
  ['dark', 'dark'],
];
const ZONES: readonly (readonly [Zone, string])[] = [
  ['local', 'local'],
  ['utc', 'UTC'],
];

/** Who is signed in, how things look, and the way out. */
export function AccountMenu({ onHelp }: { readonly onHelp: () => void }): ReactNode {
  const who = useWho();
  const name = who.tenant_id ?? (who.kind === 'admin' ? 'operator' : who.kind);
  return (
    <details className="account">
      <summary className="button small" aria-label={`Account: ${name}${who.read_only ? ' · read only' : ''}`}>
        <span className="cut">{name}</span>
        {who.read_only && <span className="quiet"> · read only</span>}
        <Icon name="down" size={12} />
      </summary>
      <div className="popover stack">
        <div className="quiet">
          {who.tenant_id === null ? 'No tenant: the operator’s view' : `Tenant ${who.tenant_id}`}
          {who.expires_at !== undefined && (
            <div>
              until <ExactTime at={who.expires_at} />
            </div>
          )}
          <div>Server {who.version}</div>
        </div>
        <Choice label="Theme" value={useStore(theme)} options={THEMES} onChange={theme.set} />
        <Choice label="Times" value={useStore(zone)} options={ZONES} onChange={zone.set} />
        <button type="button" className="button" onClick={onHelp}>
          <Icon name="key" /> Keys <kbd>?</kbd>
        </button>
        <button type="button" className="button" onClick={leave}>
          <Icon name="signOut" /> Sign out
        </button>
      </div>
    </details>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly options: readonly (readonly [T, string])[];
  readonly onChange: (value: T) => void;
}

function Choice<T extends string>({ label, value, options, onChange }: ChoiceProps<T>): ReactNode {
  return (
    <label className="choice">
      {label}
      <select className="input" value={value} onChange={(event) => onChange(event.target.value as T)}>
        {options.map(([option, words]) => (
          <option key={option} value={option}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}
