import type { ReactNode } from 'react';
import { Page } from '../../components/page.js';

export default function DeadLettersPage(): ReactNode {
  return <Page title="Dead letters">{null}</Page>;
}
