import type { ReactNode } from 'react';
import { Page } from '../../components/page.js';

export default function WorkflowsPage(): ReactNode {
  return <Page title="Workflows">{null}</Page>;
}
