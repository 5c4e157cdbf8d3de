import type { ReactNode } from 'react';
import { Page } from '../../components/page.js';

export default function DeadLetterPage(): ReactNode {
  return <Page title="Dead letter">{null}</Page>;
}
