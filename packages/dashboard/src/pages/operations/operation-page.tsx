import type { ReactNode } from 'react';
import { Page } from '../../components/page.js';

export default function OperationPage(): ReactNode {
  return <Page title="Operation">{null}</Page>;
}
