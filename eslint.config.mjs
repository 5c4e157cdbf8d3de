import tseslint from 'typescript-eslint';

/** Test doubles and assertions index into what they just made; production code does not get these liberties. */
const testFiles = ['{packages,tools}/*/test/**/*.{ts,tsx}'];

/** Texts of tenants become text nodes, never markup. The content policy with trusted types is the second wall. */
const htmlSinks = [
  {
    selector: "JSXAttribute[name.name='dangerouslySetInnerHTML'], Property[key.name='dangerouslySetInnerHTML']",
    message: 'Texts of tenants become text nodes only.',
  },
  {
    selector: 'MemberExpression[property.name=/^(innerHTML|outerHTML|insertAdjacentHTML|srcdoc|setHTMLUnsafe)$/]',
    message: 'Texts of tenants become text nodes only.',
  },
];

/** Missing on plain HTTP under any name but localhost. */
const secureOnly = [
  {
    selector: "MemberExpression[object.name='crypto'][property.name=/^(randomUUID|subtle)$/]",
    message: 'Browsers have it on secure origins only; see lib/uuid.ts.',
  },
];

/** Databases of one PostgreSQL serve many test files at once; what one asks about must not be another's. */
const ownDatabase = ['Literal[value=%]', 'TemplateElement[value.raw=%]'].map((selector) => ({
  selector: selector.replace(
    '%',
    String.raw`/pg_(stat_activity|locks|stat_database|stat_wal)(?![^]*(datname|database) = )/`,
  ),
  message: 'Ask about this database only: WHERE datname = current_database().',
}));

const enumerations = [
  {
    selector: 'TSEnumDeclaration',
    message: 'Use a union of string literals: it is erased and reads the same on the wire.',
  },
];

export default tseslint.config(
  {
    ignores: [
      '**/dist/**',
      'packages/sdk/cjs/**',
      '**/node_modules/**',
      '.cache/**',
      '.millrace/**',
      'coverage/**',
      'packages/sdk/test/types/**',
      'packages/sdk/test/installed/programs/**',
      'scripts/smoke/app.ts',
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.{ts,tsx}'],
    extends: [...tseslint.configs.recommendedTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ['vitest.config.ts', 'packages/dashboard/vite.config.ts'] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      eqeqeq: 'error',
      'no-console': 'error',
      'no-restricted-syntax': ['error', ...enumerations],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // An async function that awaits nothing is how an interface of promises is met by something synchronous.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/prefer-nullish-coalescing': ['error', { ignorePrimitives: { boolean: true, string: true } }],
    },
  },
  {
    files: ['packages/dashboard/src/**/*.{ts,tsx}'],
    rules: {
      'no-restricted-syntax': ['error', ...enumerations, ...htmlSinks, ...secureOnly],
      '@typescript-eslint/no-restricted-imports': [
        'error',
        { name: '@millrace/contract', allowTypeImports: true, message: 'Types only: its schemas must not be bundled.' },
      ],
    },
  },
  {
    files: testFiles,
    linterOptions: { reportUnusedDisableDirectives: 'off' },
    rules: {
      'no-restricted-syntax': ['error', ...enumerations, ...ownDatabase],
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-empty-function': 'off',
    },
  },
  { files: ['examples/**/*.ts'], rules: { 'no-console': 'off' } },
  {
    files: ['**/*.mjs', '**/*.cjs'],
    extends: [tseslint.configs.base],
    rules: { eqeqeq: 'error', 'no-undef': 'off', 'no-unused-vars': 'error' },
  },
);
