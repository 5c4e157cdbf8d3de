import type { ReactNode } from 'react';
import { Page } from '../../components/page.js';

export default function QueuesPage(): ReactNode {
  return <Page title="Queues">{null}</Page>;
}
