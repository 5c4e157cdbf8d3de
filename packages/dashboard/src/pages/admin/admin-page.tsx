import type { ReactNode } from 'react';
import { Page } from '../../components/page.js';

export default function AdminPage(): ReactNode {
  return <Page title="All tenants">{null}</Page>;
}
