import type { ReactNode } from 'react';
import { Page } from '../../components/page.js';

export default function CronPage(): ReactNode {
  return <Page title="Cron">{null}</Page>;
}
