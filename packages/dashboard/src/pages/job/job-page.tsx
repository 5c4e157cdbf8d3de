import type { ReactNode } from 'react';
import { Page } from '../../components/page.js';

export default function JobPage(): ReactNode {
  return <Page title="Job">{null}</Page>;
}
