/**
 * Where this folder is. The one file that is CommonJS in both formats of the package: `import.meta` exists in one of
 * them only, `__dirname` here in both. A bundle may know neither; the thread does not start then, and leases are kept
 * without it.
 */
const place = { folder: typeof __dirname === 'string' ? __dirname : '' };
export = place;
