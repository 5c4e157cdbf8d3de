import type { InputHTMLAttributes, ReactNode, TextareaHTMLAttributes } from 'react';

interface FieldProps {
  readonly label: ReactNode;
  readonly onChange: (value: string) => void;
}

/** One line of text with its label; everything else is as for an input. */
export const TextField = ({
  label,
  onChange,
  ...input
}: FieldProps & Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange'>): ReactNode => (
  <label>
    {label}
    <input className="input" onChange={(event) => onChange(event.target.value)} {...input} />
  </label>
);

/** JSON as text, which is sent as it is written. */
export const JsonField = ({
  label,
  onChange,
  ...area
}: FieldProps & Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'onChange'>): ReactNode => (
  <label>
    {label}
    <textarea className="input" onChange={(event) => onChange(event.target.value)} spellCheck={false} {...area} />
  </label>
);
