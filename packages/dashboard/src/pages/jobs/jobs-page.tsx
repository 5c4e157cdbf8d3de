import type { ReactNode } from 'react';
import { Page } from '../../components/page.js';

export default function JobsPage(): ReactNode {
  return <Page title="Jobs">{null}</Page>;
}
