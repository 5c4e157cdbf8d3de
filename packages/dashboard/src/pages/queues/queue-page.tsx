import type { ReactNode } from 'react';
import { Page } from '../../components/page.js';

export default function QueuePage(): ReactNode {
  return <Page title="Queue">{null}</Page>;
}
