import ts from 'typescript';

/** For `npm run map`: a module in which one export does nothing but throw. */

/** The source with a throw at the beginning of every function that belongs to the export; null if it has none. */
export function brokenSource(source: string, name: string): string | null {
  const file = ts.createSourceFile(`${name}.tsx`, source, ts.ScriptTarget.Latest, true);
  const bodies = file.statements.flatMap((statement) => bodiesOf(statement, name));
  if (bodies.length === 0) return null;
  // From the end, so that places before stay where they are.
  return bodies.sort((one, other) => other.pos - one.pos).reduce((text, body) => broken(text, body), source);
}

const THROW = `throw new Error('broken by npm run map');`;

function broken(text: string, body: ts.ConciseBody): string {
  const [start, end] = [body.getStart(), body.getEnd()];
  if (!ts.isBlock(body)) return `${text.slice(0, start)}{ ${THROW} }${text.slice(end)}`;
  return `${text.slice(0, start + 1)} ${THROW}${text.slice(start + 1)}`;
}

function bodiesOf(statement: ts.Statement, name: string): ts.ConciseBody[] {
  if (ts.isFunctionDeclaration(statement)) return statement.name?.text === name ? present(statement.body) : [];
  if (ts.isClassDeclaration(statement)) return statement.name?.text === name ? statement.members.flatMap(ofMember) : [];
  if (!ts.isVariableStatement(statement)) return [];
  const declared = statement.declarationList.declarations.find((each) => each.name.getText() === name);
  return declared?.initializer ? ofValue(declared.initializer) : [];
}

/** A constructor is left alone: what cannot be made breaks everything, and says nothing about the place. */
function ofMember(member: ts.ClassElement): ts.ConciseBody[] {
  if (ts.isMethodDeclaration(member) || ts.isAccessor(member)) return present(member.body);
  return ts.isPropertyDeclaration(member) && member.initializer ? ofValue(member.initializer) : [];
}

const ofValue = (value: ts.Expression): ts.ConciseBody[] =>
  ts.isArrowFunction(value) || ts.isFunctionExpression(value) ? [value.body] : [];

const present = (body: ts.Block | undefined): ts.ConciseBody[] => (body === undefined ? [] : [body]);
