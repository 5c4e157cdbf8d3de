import { useState, type ReactNode } from 'react';
import { Icon } from '../../components/icon.js';
import { Menu } from '../../components/menu.js';
import { parseAddress } from '../../lib/address.js';
import { useStore } from '../../lib/store.js';
import { addressOfView, forgetView, savedViews, saveView, VIEW_NAME_MAX, type SavedView } from './views.js';
import { useAddress } from '../../lib/routing.js';
import { Link } from '../../components/links.js';

/** The filters and columns that were saved under a name, and how to save those that are set. */
export function ViewMenu(): ReactNode {
  const views = useStore(savedViews);
  return (
    <Menu icon="bookmark" label="Views" title="Filters and columns, saved under a name in this browser">
      {(close) => (
        <>
          {views.length === 0 ? (
            <p className="quiet">No views yet. Save the current filters and columns under a name.</p>
          ) : (
            <ul className="views" aria-label="Saved views">
              {views.map((view) => (
                <ViewLine key={view.name} view={view} onOpen={close} />
              ))}
            </ul>
          )}
          <SaveForm onSaved={close} />
        </>
      )}
    </Menu>
  );
}

interface ViewLineProps {
  readonly view: SavedView;
  readonly onOpen: () => void;
}

const ViewLine = ({ view: { name, address }, onOpen }: ViewLineProps): ReactNode => (
  <li>
    <Link to="/jobs" search={{ ...parseAddress(address), view: name }} onClick={onOpen}>
      {name}
    </Link>
    <button type="button" className="button small quiet" aria-label={`Forget ${name}`} onClick={() => forgetView(name)}>
      <Icon name="close" size={12} />
    </button>
  </li>
);

function SaveForm({ onSaved }: { readonly onSaved: () => void }): ReactNode {
  const [address, setAddress] = useAddress();
  const [name, setName] = useState(address.view ?? '');
  const save = (): void => {
    saveView({ name: name.trim(), address: addressOfView(address) });
    setAddress({ view: name.trim() });
    onSaved();
  };
  return (
    <form
      className="save-view"
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim() !== '') save();
      }}
    >
      <input
        className="input"
        aria-label="Name of the view"
        placeholder="Name"
        maxLength={VIEW_NAME_MAX}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <button type="submit" className="button" disabled={name.trim() === ''}>
        Save
      </button>
    </form>
  );
}

/** The name of the view in the address, and whether what it stands for was changed since it was saved. */
export function ViewName(): ReactNode {
  const [address] = useAddress();
  const views = useStore(savedViews);
  if (address.view === undefined) return null;
  const saved = views.find(({ name }) => name === address.view);
  const isChanged = saved !== undefined && saved.address !== addressOfView(address);
  return (
    <span className="view-name">
      {address.view.slice(0, VIEW_NAME_MAX)}
      {isChanged && <span className="quiet">, changed</span>}
    </span>
  );
}
