/**
 * Where the dashboard and the API are, as the browser sees them. This file is an asset of the dashboard, so its own
 * address tells: whatever prefix a proxy adds, `ui/` is one level above the assets, and the API beside `ui/`.
 */
const UI = import.meta.env.DEV ? new URL('/', location.href) : new URL(/* @vite-ignore */ '..', import.meta.url);

/** Path of the dashboard, without the slash at its end. */
export const UI_PATH = UI.pathname.replace(/\/$/, '');

/** Path of the API, without the slash at its end. */
export const API_PATH = new URL(import.meta.env.DEV ? '/api/v1' : '../api/v1', UI).pathname;

/** Origin and path of the API, for commands that a person pastes into a terminal. */
export const API_ADDRESS = location.origin + API_PATH;
