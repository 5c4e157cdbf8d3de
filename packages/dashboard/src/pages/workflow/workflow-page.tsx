import type { ReactNode } from 'react';
import { Page } from '../../components/page.js';

export default function WorkflowPage(): ReactNode {
  return <Page title="Workflow">{null}</Page>;
}
