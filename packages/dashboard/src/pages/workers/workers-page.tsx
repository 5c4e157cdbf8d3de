import type { ReactNode } from 'react';
import { Page } from '../../components/page.js';

export default function WorkersPage(): ReactNode {
  return <Page title="Workers">{null}</Page>;
}
