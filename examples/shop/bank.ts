// Stands for the bank. Cards that begin with `declined` are, and those that begin with `slow` need a second attempt.
export class BankUnavailable extends Error {}
export class CardDeclined extends Error {}

const asked = new Set<string>();
const receipts = new Map<string, string>();

/** Charges a card once per reference, however often it is called. */
export async function chargeCard(card: string, cents: number, reference: string): Promise<string> {
  if (card.startsWith('declined')) throw new CardDeclined(`the card was declined for ${cents} cents`);
  if (card.startsWith('slow') && !asked.has(reference)) {
    asked.add(reference);
    throw new BankUnavailable('the bank does not answer');
  }
  const receipt = receipts.get(reference) ?? `receipt-${receipts.size + 1}`;
  receipts.set(reference, receipt);
  return receipt;
}
