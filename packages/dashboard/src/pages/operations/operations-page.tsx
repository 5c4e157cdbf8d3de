import type { ReactNode } from 'react';
import { Page } from '../../components/page.js';

export default function OperationsPage(): ReactNode {
  return <Page title="Operations">{null}</Page>;
}
