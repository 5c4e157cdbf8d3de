import type { AriaAttributes, ReactNode } from 'react';
import { Link } from '../../components/links.js';

interface FiringLinkProps extends Pick<AriaAttributes, 'aria-label'> {
  readonly jobId: string | null;
  readonly workflowId: string | null;
  readonly title?: string;
  readonly tabIndex?: number;
  readonly children?: ReactNode;
}

/** To what a firing made. One that was skipped made nothing. */
export function FiringLink({ jobId, workflowId, children, ...rest }: FiringLinkProps): ReactNode {
  if (workflowId !== null)
    return (
      <Link to={`/workflows/${workflowId}`} {...rest}>
        {children}
      </Link>
    );
  if (jobId !== null)
    return (
      <Link to={`/jobs/${jobId}`} {...rest}>
        {children}
      </Link>
    );
  return (
    <span role="img" {...rest}>
      {children}
    </span>
  );
}
