C     LHA_LOADCARD and LHA_GET_REAL: the two calls by which MG5aMC's
C     SETPARA reads a card. Here the first keeps the card's name; the
C     second looks up in ident_card.dat which entry has the parameter's
C     name, and reads that one. ident_card.dat lies beside the card.
C     Tables and default values are not used.
C
      SUBROUTINE LHA_LOADCARD(CARD, NPARA, PARAM, VALUE)

      IMPLICIT NONE
      CHARACTER*(*) CARD, PARAM(*), VALUE(*)
      INTEGER NPARA
      CHARACTER*512 PATH
      COMMON/CARD_PATH/PATH
      NPARA = 0
      PATH = CARD
      END

      SUBROUTINE LHA_GET_REAL(NPARA, PARAM, VALUE, NAME, X, USUAL)

      IMPLICIT NONE
      INTEGER NPARA, KEY, LUN, IOS
      CHARACTER*(*) PARAM(*), VALUE(*), NAME
      CHARACTER*200 BLOCK, THIS
      DOUBLE PRECISION X, USUAL
      DOUBLE PRECISION SLHA_VALUE
      EXTERNAL SLHA_VALUE
      CHARACTER*512 PATH
      COMMON/CARD_PATH/PATH
      OPEN(NEWUNIT=LUN, STATUS='OLD', ACTION='READ',
     $ FILE=PATH(1:INDEX(PATH,'/',.TRUE.))//'ident_card.dat')
      DO
        READ(LUN, *, IOSTAT=IOS) BLOCK, KEY, THIS
        IF (IOS.NE.0) EXIT
        IF (THIS.NE.NAME) CYCLE
        IF (BLOCK.NE.'decay') BLOCK = 'block '//BLOCK
        X = SLHA_VALUE(PATH, TRIM(BLOCK), KEY)
        CLOSE(LUN)
        RETURN
      ENDDO
      WRITE(0,*) 'SETPARA: ident_card.dat has no parameter ', NAME
      STOP 1
      END

C
C     SLHA_VALUE: one number of a card in the SUSY Les Houches format.
C     WHAT is a block's name in lower case, such as 'block mass', or
C     'decay' for a width; KEY is the entry's number. A number that is
C     not there ends the program.
C
      DOUBLE PRECISION FUNCTION SLHA_VALUE(CARD, WHAT, KEY)

      IMPLICIT NONE
      CHARACTER*(*) CARD, WHAT
      INTEGER KEY
      CHARACTER*200 LINE, WORDS
      INTEGER LUN, IOS, I, N, ID
      LOGICAL INSIDE
      DOUBLE PRECISION VALUE

      OPEN(NEWUNIT=LUN, FILE=CARD, STATUS='OLD', ACTION='READ',
     $ IOSTAT=IOS)
      IF (IOS.NE.0) THEN
        WRITE(0,*) 'SETPARA: cannot open the parameter card ',
     $   TRIM(CARD)
        STOP 1
      ENDIF
      INSIDE = .FALSE.
      DO
        READ(LUN, '(A)', IOSTAT=IOS) LINE
        IF (IOS.NE.0) EXIT
        I = INDEX(LINE, '#')
        IF (I.GT.0) LINE(I:) = ' '
C       Lower case, and words one space apart.
        WORDS = ' '
        N = 0
        DO I=1,LEN_TRIM(LINE)
          IF (LINE(I:I).EQ.' '.OR.LINE(I:I).EQ.ACHAR(9)) THEN
            IF (N.EQ.0) CYCLE
            IF (WORDS(N:N).EQ.' ') CYCLE
          ENDIF
          N = N + 1
          WORDS(N:N) = LINE(I:I)
          IF (LGE(LINE(I:I),'A').AND.LLE(LINE(I:I),'Z'))
     $     WORDS(N:N) = ACHAR(IACHAR(LINE(I:I)) + 32)
          IF (LINE(I:I).EQ.ACHAR(9)) WORDS(N:N) = ' '
        ENDDO
        IF (WORDS.EQ.' ') CYCLE
        IF (WHAT.EQ.'decay') THEN
          IF (WORDS(1:6).NE.'decay ') CYCLE
          WORDS = WORDS(7:)
        ELSE IF (LGE(WORDS(1:1),'a').AND.LLE(WORDS(1:1),'z')) THEN
          INSIDE = WORDS.EQ.WHAT
          CYCLE
        ELSE IF (.NOT.INSIDE) THEN
          CYCLE
        ENDIF
        READ(WORDS, *, IOSTAT=IOS) ID, VALUE
        IF (IOS.NE.0) THEN
          WRITE(0,*) 'SETPARA: cannot read this line of ', TRIM(CARD),
     $     ': ', TRIM(LINE)
          STOP 1
        ENDIF
        IF (ID.EQ.KEY) THEN
          SLHA_VALUE = VALUE
          CLOSE(LUN)
          RETURN
        ENDIF
      ENDDO
      WRITE(0,*) 'SETPARA: ', TRIM(CARD), ' has no entry ', KEY,
     $ ' in ', WHAT
      STOP 1
      END
