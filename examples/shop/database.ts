// Stands for your database.
export interface User {
  readonly id: number;
  readonly email: string;
}

export interface Order {
  readonly id: string;
  readonly sku: string;
  readonly count: number;
  /** The workflow that fulfils it. */
  workflowId?: string;
}

const users = new Map<string, User>();
const orders = new Map<string, Order>();

/** The user with this address; made if there is none. */
export function saveUser(email: string): User {
  const user = users.get(email) ?? { id: users.size + 1, email };
  users.set(email, user);
  return user;
}

/** The order with this id, which the browser made up: sending it twice makes one order. */
export function saveOrder(order: Order): Order {
  const saved = orders.get(order.id) ?? order;
  orders.set(order.id, saved);
  return saved;
}

export const findOrder = (id: string): Order | undefined => orders.get(id);
