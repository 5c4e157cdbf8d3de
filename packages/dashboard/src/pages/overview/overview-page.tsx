import type { ReactNode } from 'react';
import { Page } from '../../components/page.js';

export default function OverviewPage(): ReactNode {
  return <Page title="Overview">{null}</Page>;
}
